import CLibXML2

/// Walks through an XML document (libxml2's `xmlTextReader`) and owns what it reads. What a server sends is not trusted: a
/// document type is an error, so there are no entities, nothing is fetched, and libxml2's own limits on depth and length
/// hold.
@safe struct XMLReader: ~Copyable {
  enum Node {
    /// An element by its local name; an empty one has no `end`.
    case start(String, isEmpty: Bool)
    case text(String)
    case end
  }

  struct Malformed: Error, Equatable {}

  private let raw: OpaquePointer
  private let bytes: UnsafeMutablePointer<CChar>

  /// - Throws: when there is no document, or no memory.
  init(_ document: [UInt8]) throws(Malformed) {
    guard !document.isEmpty, let count = Int32(exactly: document.count) else { throw Malformed() }
    // The reader does not copy.
    let bytes = UnsafeMutablePointer<CChar>.allocate(capacity: document.count)
    for (index, byte) in document.enumerated() { unsafe bytes[index] = CChar(bitPattern: byte) }
    let options = XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
    guard let raw = unsafe xmlReaderForMemory(bytes, count, nil, nil, Int32(options)) else {
      unsafe bytes.deallocate()
      throw Malformed()
    }
    unsafe self.raw = raw
    unsafe self.bytes = bytes
  }

  deinit {
    unsafe xmlFreeTextReader(raw)
    unsafe bytes.deallocate()
  }

  /// What comes next; nil at the end of the document. Comments and white space between elements are left out.
  mutating func next() throws(Malformed) -> Node? {
    while true {
      switch unsafe xmlTextReaderRead(raw) {
      case 1: break
      case 0: return nil
      default: throw Malformed()
      }
      switch unsafe xmlTextReaderNodeType(raw) {
      case 1:
        return unsafe .start(text(xmlTextReaderConstLocalName(raw)), isEmpty: xmlTextReaderIsEmptyElement(raw) == 1)
      case 3, 4: return unsafe .text(text(xmlTextReaderConstValue(raw)))
      case 15: return .end
      // References to entities, and the document type that would declare them.
      case 5, 10: throw Malformed()
      default: continue
      }
    }
  }

  private func text(_ pointer: UnsafePointer<xmlChar>?) -> String {
    unsafe pointer.map { unsafe String(decodingCString: $0, as: UTF8.self) } ?? ""
  }
}
