import TestKit
import Testing

@testable import HTTP

@Suite struct `S3 listings` {
  static let page = """
    <?xml version="1.0" encoding="UTF-8"?>
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bkt</Name><Prefix>x/</Prefix>
    <MaxKeys>3</MaxKeys><IsTruncated>true</IsTruncated><Contents><Key>x/a+b%2B%C3%A9</Key><ETag>&#34;19cf&#34;</ETag>
    <Size>6</Size><Owner><ID>Key</ID><DisplayName/></Owner><LastModified>2026-11-30T16:56:06Z</LastModified></Contents>
    <Contents><Key>x/c</Key><Size>5368709120</Size><LastModified>2026-11-30T16:56:06.123456Z</LastModified></Contents>
    <CommonPrefixes><Prefix>x/n&amp;0/</Prefix></CommonPrefixes>
    <NextContinuationToken>x/n0&lt;</NextContinuationToken><KeyCount>3</KeyCount></ListBucketResult>
    """

  @Test func `are read whatever stands between what is wanted`() throws {
    let listing = try S3Listing(parsing: Array(Self.page.utf8))
    #expect(listing.objects.map(\.key) == ["x/a b+é", "x/c"])
    #expect(listing.objects.map(\.size) == [6, 5_368_709_120])
    #expect(listing.objects.map(\.modified) == [1_796_057_766_000, 1_796_057_766_123])
    #expect(listing.prefixes == ["x/n&0/"])
    #expect(listing.next == "x/n0<")
  }

  @Test(arguments: [
    "", "x", "<Error><Code>NoSuchBucket</Code></Error>", "<html><body/></html>", "<ListBucketResult>",
    "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
    "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
    "<ListBucketResult><Contents><LastModified>yesterday</LastModified></Contents></ListBucketResult>",
    // Entities that grow, and one that fetches.
    "<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult><Name>&a;</Name></ListBucketResult>",
    "<!DOCTYPE x SYSTEM \"file:///etc/passwd\"><ListBucketResult></ListBucketResult>",
    "<ListBucketResult><Name>&unknown;</Name></ListBucketResult>",
  ])
  func `are refused where they are none`(text: String) {
    #expect(throws: S3Listing.Malformed.self) { try S3Listing(parsing: Array(text.utf8)) }
  }

  @Test func `are refused where elements stand in each other without end`() {
    let text = "<ListBucketResult>" + String(repeating: "<a>", count: 100_000)
    #expect(throws: S3Listing.Malformed.self) { try S3Listing(parsing: Array(text.utf8)) }
  }

  @Test func `do no harm whatever has happened to them`() {
    var random = SeededRandom(5)
    var accepted = 0
    for _ in 0..<4_000 {
      var bytes = Array(Self.page.utf8)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...40, using: &random)))
        case 2: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 30)], at: at)
        default: bytes = Array(bytes[..<at])
        }
        if bytes.isEmpty { bytes = [0] }
      }
      if (try? S3Listing(parsing: bytes)) != nil { accepted += 1 }
    }
    // Some of it only changes a name.
    #expect((1..<4_000).contains(accepted))
  }

  @Test(arguments: [
    ("s3://bkt/a%20b/c", "https://s3.eu.amazonaws.com", "a b/c/", "https://s3.eu.amazonaws.com/bkt"),
    ("s3://bkt", "http://127.0.0.1:9000/x", "", "http://127.0.0.1:9000/x/bkt"),
    ("s3://bkt/p/", nil, "p/", "https://bkt.s3.us-east-1.amazonaws.com/"),
  ])
  func `are asked of the bucket, with what all keys begin with`(
    url: String, endpoint: String?, prefix: String, root: String
  ) throws {
    let bucket = S3Bucket(try ServerURL(url), endpoint: try endpoint.map { try ServerURL($0) }, region: "us-east-1")
    #expect(bucket.prefix == prefix)
    #expect(bucket.root.text == root)
  }
}
