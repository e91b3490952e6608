import HLS
import Platform

extension CleanReport {
  /// What happened in a few lines for a person, each line ended.
  package var text: String {
    let verb = isDryRun ? "would remove" : "removed"
    var lines: [String] = []
    if freed.files == 0, !recordings.isEmpty {
      lines.append("\(verb) \(counted(recordings.count, "empty recording"))")
    } else if freed.files == 0, problemCount > 0 {
      lines.append("nothing could be removed")
    } else if freed.files == 0 {
      lines.append(isDryRun ? "nothing would be removed" : "nothing to remove")
    } else {
      lines.append("\(verb) \(told(freed))")
      let reasons = [
        (aged, "older than the maximum age"), (oversize, "the oldest above the maximum size"),
        (unsent, "not sent, and too old to be kept"), (finished, "init sections and markers with no segment left"),
      ]
      for (amount, reason) in reasons where amount.files > 0 { lines.append("  \(told(amount)): \(reason)") }
      if !recordings.isEmpty { lines.append("  \(counted(recordings.count, "recording")) as a whole") }
    }
    if !inUse.isEmpty { lines.append("left alone because in use: \(inUse.map(\.text).joined(separator: ", "))") }
    if problemCount > 0 {
      lines.append("\(counted(problemCount, "problem")): \(problems.first.map(\.description) ?? "")")
    }
    lines.append("\(told(remaining)) \(isDryRun ? "would stay" : "remain")")
    return lines.joined(separator: "\n") + "\n"
  }

  private func told(_ amount: Amount) -> String { "\(counted(amount.files, "file")), \(byteText(amount.bytes))" }

  /// One JSON object (RFC 8259) without a line end; docs/cleaning.md lists its keys, which are never renamed.
  package var json: String {
    var text = JSONText()
    text.object { text in
      text.key("dry_run")
      text.value(isDryRun)
      for (name, amount) in [
        ("freed", freed), ("aged", aged), ("oversize", oversize), ("unsent", unsent), ("finished", finished),
        ("remaining", remaining),
      ] {
        text.pair("\(name)_files", Int64(amount.files))
        text.pair("\(name)_bytes", amount.bytes)
      }
      text.key("recordings")
      text.array { text in for name in recordings { text.value(name.text) } }
      text.key("in_use")
      text.array { text in for name in inUse { text.value(name.text) } }
      text.pair("problem_count", Int64(problemCount))
      text.key("problems")
      text.array { text in for problem in problems { text.value(problem.description) } }
    }
    return String(decoding: text.bytes, as: UTF8.self)
  }
}
