import HTTP
import Platform

/// Where a bucket is served, and with which keys: options that every command that speaks S3 has.
struct BucketArguments {
  var endpoint: String?
  var region: String?

  var isGiven: Bool { endpoint != nil || region != nil }

  static var group: OptionGroup<BucketArguments> {
    OptionGroup(
      title: "S3 (keys come from the environment or ~/.aws/credentials, as for Amazon's tools):",
      options: [
        Option("--s3-endpoint", "URL", "Where the bucket is served (default: Amazon's).") {
          (arguments, text) throws(UsageError) in arguments.endpoint = text
        },
        Option("--s3-region", "NAME", "The region that signatures name (default: AWS_REGION, else us-east-1).") {
          (arguments, text) throws(UsageError) in arguments.region = text
        },
      ])
  }

  /// - Parameter option: what names the bucket.
  func resolved(_ option: String) throws(Failure) -> (endpoint: ServerURL?, source: AWSCredentialSource) {
    let url: ServerURL?
    do throws(UsageError) {
      url = try endpoint.map { (text) throws(UsageError) in try parseURL("--s3-endpoint", text) }
    } catch {
      throw Failure(.usage, error.description)
    }
    do throws(ClientError) {
      return (url, try AWSCredentialSource(region: region, variable: Environment.value))
    } catch {
      throw Failure(.usage, "\(option): \(error)")
    }
  }

  /// What must not be told.
  static var secrets: [String] { ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"].compactMap(Environment.value) }
}

func parseURL(_ option: String, _ text: String) throws(UsageError) -> ServerURL {
  do throws(ServerURL.ParseError) {
    return try ServerURL(text)
  } catch {
    throw UsageError(option, error.description)
  }
}
