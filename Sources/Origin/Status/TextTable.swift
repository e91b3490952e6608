/// Columns of text under a heading, aligned, in no more than a given width where that can be had. Pure.
struct TextTable {
  struct Column {
    let heading: String
    let isNumber: Bool
    /// Where the table is too wide, columns with the highest value go first; those with 0 never go.
    let dispensability: Int

    init(_ heading: String, isNumber: Bool = false, dispensability: Int = 0) {
      self.heading = heading
      self.isNumber = isNumber
      self.dispensability = dispensability
    }
  }

  private static let gap = 2
  private let columns: [Column]
  /// One cell a column.
  private var rows: [[String]] = []

  init(_ columns: [Column]) {
    self.columns = columns
  }

  mutating func add(_ row: [String]) { rows.append(row) }

  /// - Parameter width: characters; nil is as wide as it gets. When all that may go has gone, the first column is cut.
  func lines(width: Int?) -> [String] {
    var shown = Array(columns.indices)
    var widths = columns.indices.map { index in
      rows.map { $0[index].count }.reduce(columns[index].heading.count, max)
    }
    func total() -> Int { shown.reduce(0) { $0 + widths[$1] } + TextTable.gap * (shown.count - 1) }
    if let width {
      while total() > width, let worst = shown.max(by: { columns[$0].dispensability < columns[$1].dispensability }),
        columns[worst].dispensability > 0
      {
        shown.removeAll { $0 == worst }
      }
      if total() > width, let first = shown.first { widths[first] = max(8, widths[first] - (total() - width)) }
    }
    return ([columns.map(\.heading)] + rows).map { row in
      let cells = shown.map { padded(row[$0], to: widths[$0], isNumber: columns[$0].isNumber) }
      let line = cells.joined(separator: String(repeating: " ", count: TextTable.gap))
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }

  private func padded(_ text: String, to width: Int, isNumber: Bool) -> String {
    if text.count > width { return text.prefix(width - 1) + "…" }
    let space = String(repeating: " ", count: width - text.count)
    return isNumber ? space + text : text + space
  }
}
