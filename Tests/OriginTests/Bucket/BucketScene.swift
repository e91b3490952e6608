import HLS
import HTTP
import Platform
import Storage
import TestKit

@testable import Origin

/// A bucket that arrivals are put into, and stores that look at it.
final class BucketScene: Sendable {
  let bucket: FakeBucket
  static let run = StitchScene.run()

  init() throws { bucket = try FakeBucket() }
  deinit { bucket.stop() }

  /// - Parameter log: where the store says that it is away.
  func store(log: Log = .none) throws -> BucketStore {
    var source = AWSCredentialSource(region: "us-east-1")
    source.accessKey = "AK"
    source.secretKey = "SK"
    let place = S3Bucket(try ServerURL("s3://bkt/pre"), endpoint: try ServerURL(bucket.endpoint), region: "us-east-1")
    var client = ClientConfiguration()
    client.stallLimit = .seconds(60)
    return BucketStore(try S3Client(place, source, client), root: "s3://bkt/pre", log: log)
  }

  func recording(_ store: BucketStore, gapAfter: Duration? = nil) throws -> RecordingStitching {
    var policy = StitchingPolicy()
    policy.gapAfter = gapAfter
    guard let name = StitchScene.recording else { throw Program.Failure(description: "no name") }
    return try RecordingStitching(store, name, policy, .none, at: .now)
  }

  @discardableResult func put(
    _ entry: RunEntry, _ bytes: [UInt8], _ key: RunKey, age: Int64 = 0
  ) -> EntryPath {
    let path = EntryPath(key: key, entry: entry)
    bucket.put("pre/\(path)", bytes, age: age)
    return path
  }

  @discardableResult func initSection(_ key: RunKey) -> EntryPath { put(.initSection, MediaSamples.initSection, key) }

  @discardableResult func segment(_ sequence: Int, _ key: RunKey, age: Int64 = 0) -> EntryPath {
    put(.segment(StitchScene.name(sequence, of: key.run)), MediaSamples.segment(second: sequence * 5), key, age: age)
  }

  @discardableResult func marker(_ count: Int, _ kind: MarkerName.Kind, _ key: RunKey) -> EntryPath {
    put(.marker(MarkerName(count: count, kind: kind)), [], key)
  }

  func playlist(_ path: String) throws -> MediaPlaylist {
    try MediaPlaylist(parsing: Array((bucket.text("pre/\(path)") ?? "").utf8))
  }
}
