/// One page of what is in a bucket: the answer to ListObjectsV2 (docs.aws.amazon.com, "ListObjectsV2").
package struct S3Listing: Equatable, Sendable {
  package struct Object: Equatable, Sendable {
    package var key = ""
    /// Bytes.
    package var size: Int64 = 0
    /// By the store's clock, milliseconds since 1970 UTC; whole seconds as a rule.
    package var modified: Int64 = 0
  }

  /// In the order of their keys.
  package var objects: [Object] = []
  /// What is left of keys up to the delimiter, this included.
  package var prefixes: [String] = []
  /// Asks for the next page; nil where this is the last one.
  package var next: String?

  package struct Malformed: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

  /// Reads an answer that was asked for with `encoding-type=url`.
  package init(parsing bytes: [UInt8]) throws(Malformed) {
    do throws(XMLReader.Malformed) {
      var reader = try XMLReader(bytes)
      var path: [String] = []
      var text = ""
      var object = Object()
      var isTruncated = false
      var isBad = false
      func end(_ listing: inout S3Listing) {
        switch path.dropFirst().joined(separator: "/") {
        case "Contents/Key": object.key = urlDecoded(text)
        case "Contents/Size":
          object.size = Int64(text) ?? -1
          if object.size < 0 { isBad = true }
        case "Contents/LastModified":
          object.modified = parseISODate(text) ?? -1
          if object.modified < 0 { isBad = true }
        case "Contents":
          listing.objects.append(object)
          object = Object()
        case "CommonPrefixes/Prefix": listing.prefixes.append(urlDecoded(text))
        case "IsTruncated": isTruncated = text == "true"
        case "NextContinuationToken": listing.next = text
        default: break
        }
        path.removeLast()
        text = ""
      }
      while let node = try reader.next() {
        switch node {
        case .start(let name, let isEmpty):
          path.append(name)
          text = ""
          if isEmpty { end(&self) }
        case .text(let part): text += part
        case .end: end(&self)
        }
        if let root = path.first, root != "ListBucketResult" { throw XMLReader.Malformed() }
      }
      if isBad { throw XMLReader.Malformed() }
      // A page that says more and not where would be taken for the whole.
      if isTruncated, next?.isEmpty ?? true { throw XMLReader.Malformed() }
      if !isTruncated { next = nil }
    } catch {
      throw Malformed(description: "the listing is not what S3 answers")
    }
  }
}

/// Decodes what `encoding-type=url` has encoded: `%XX`, and `+` for a space.
package func urlDecoded(_ text: String) -> String {
  let spaced = String(decoding: text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  return String(decoding: AWSSignature.decode(spaced[...]), as: UTF8.self)
}
