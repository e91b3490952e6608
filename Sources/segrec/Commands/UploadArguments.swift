import Delivery
import HTTP
import Platform
import Storage

/// The options that `record` and `upload` share: where to, as whom, how hard.
struct UploadArguments {
  var address: String?
  var tokenFile: String?
  var netrcFile: String?
  var certificate: String?
  var key: String?
  var authorities: String?
  /// Bytes a second.
  var maximumRate: Int64?
  var catchUp = DeliveryPlan.CatchUp.oldest
  var parallel = 3
  var drainTimeout: Duration = .seconds(30)
  var bucket = BucketArguments()
  var limits = SpoolLimits()

  static var groups: [OptionGroup<UploadArguments>] {
    [sending, disk, identity, BucketArguments.group.within(\.bucket)]
  }

  private static var sending: OptionGroup<UploadArguments> {
    OptionGroup(
      title: "Upload:",
      options: [
        Option(
          "--upload", "URL",
          "The server: http://, https://, s3://bucket/prefix or file:///dir. ${NAME} is taken from the environment."
        ) { (arguments, text) throws(UsageError) in
          if arguments.address != nil { throw UsageError("--upload", "can be given once: there is one server") }
          arguments.address = text
        },
        Option("--catch-up", "ORDER", "After an outage send oldest or newest first (default oldest).") {
          (arguments, text) throws(UsageError) in
          switch text {
          case "oldest": arguments.catchUp = .oldest
          case "newest": arguments.catchUp = .newest
          default: throw UsageError("--catch-up", "'\(text)' is not one of oldest, newest")
          }
        },
        Option("--parallel", "N", "Transfers at a time, 1 to 16 (default 3).") {
          (arguments, text) throws(UsageError) in arguments.parallel = try parseCount("--parallel", text, in: 1...16)
        },
        Option("--max-upload-rate", "RATE", "Most bits per second, such as 5M (default: no limit).") {
          (arguments, text) throws(UsageError) in
          arguments.maximumRate = max(1, Int64(try parseBitrate("--max-upload-rate", text)) / 8)
        },
        Option(
          "--drain-timeout", "DURATION", "How long to wait for the last segments to be acknowledged (default 30s)."
        ) { (arguments, text) throws(UsageError) in
          arguments.drainTimeout = try parseDuration("--drain-timeout", text)
        },
      ])
  }

  private static var disk: OptionGroup<UploadArguments> {
    OptionGroup(
      title: "Disk:",
      options: [
        Option("--min-free", "BYTES", "Leaves so much of the spool's disk free (default a twentieth, 100M at most).") {
          (arguments, text) throws(UsageError) in
          arguments.limits.minimumFree = try parseBytes("--min-free", text)
        },
        Option("--max-spool", "BYTES", "The spool takes no more than this (default: no limit).") {
          (arguments, text) throws(UsageError) in
          arguments.limits.maximumSize = try parseBytes("--max-spool", text)
        },
        Option(
          "--when-full", "WHAT",
          "drop-sent: the oldest copies of what is sent go, then new segments wait; stop: recording ends; drop-oldest: also the unsent go, each one said (default drop-sent)."
        ) { (arguments, text) throws(UsageError) in
          arguments.limits.whenFull = try parseChoice("--when-full", text)
        },
      ])
  }

  private static var identity: OptionGroup<UploadArguments> {
    OptionGroup(
      title: "As whom:",
      options: [
        Option("--token-file", "FILE", "A bearer token (default: the environment's SEGREC_TOKEN).") {
          (arguments, text) throws(UsageError) in arguments.tokenFile = text
        },
        Option("--netrc-file", "FILE", "User and password by host, as curl and ftp read them.") {
          (arguments, text) throws(UsageError) in arguments.netrcFile = text
        },
        Option("--cert", "FILE", "Client certificate, PEM.") {
          (arguments, text) throws(UsageError) in arguments.certificate = text
        },
        Option("--key", "FILE", "Its private key, PEM.") { (arguments, text) throws(UsageError) in arguments.key = text
        },
        Option("--cacert", "FILE", "Certificates to trust instead of the system's, PEM.") {
          (arguments, text) throws(UsageError) in arguments.authorities = text
        },
      ])
  }

  /// The command that sends a spool later, to the same place and as the same person, as a shell reads it. Secrets are not
  /// in it: what came from the environment still comes from there.
  func command(spool: String) -> String {
    var words = ["segrec", "upload", "--spool", spool, "--upload", address ?? "URL"]
    let files = [
      ("--token-file", tokenFile), ("--netrc-file", netrcFile), ("--cert", certificate), ("--key", key),
      ("--cacert", authorities), ("--s3-endpoint", bucket.endpoint), ("--s3-region", bucket.region),
    ]
    for case (let option, let value?) in files { words += [option, value] }
    return words.map(quoted).joined(separator: " ")
  }

  /// Nil where there is no `--upload`.
  func optionalConfiguration() throws(Failure) -> (configuration: UploadConfiguration, secrets: [String])? {
    guard let address else { return nil }
    var secrets: [String] = []
    let target: ServerURL
    do throws(UsageError) {
      let (text, fromEnvironment) = try expandEnvironment("--upload", address, lookup: Environment.value)
      secrets += fromEnvironment
      target = try parseURL("--upload", text)
    } catch {
      throw Failure(.usage, Redaction(secrets: secrets).masked(error.description))
    }
    var configuration = UploadConfiguration(target: target)
    configuration.catchUp = catchUp
    configuration.parallel = parallel
    configuration.drainTimeout = drainTimeout
    configuration.client.certificateFile = certificate
    configuration.client.keyFile = key
    configuration.client.caFile = authorities
    configuration.client.maximumRate = maximumRate
    configuration.credentials.tokenFile = tokenFile
    configuration.credentials.netrcFile = netrcFile
    if target.scheme == .s3 {
      let place = try bucket.resolved("--upload")
      configuration.s3Endpoint = place.endpoint
      configuration.credentials.aws = place.source
      secrets += BucketArguments.secrets
    } else if bucket.isGiven {
      throw Failure(.usage, "--s3-endpoint and --s3-region go with --upload s3://bucket/prefix")
    }
    if let token = Environment.value("SEGREC_TOKEN"), !token.isEmpty {
      configuration.credentials.token = token
      secrets.append(token)
    }
    for (option, file) in [
      ("--token-file", tokenFile), ("--netrc-file", netrcFile), ("--cert", certificate), ("--key", key),
      ("--cacert", authorities),
    ] {
      // Looked at now, because a name with a mistake in it should not show only when the recording has begun.
      if let file { _ = try readText(option, file: file, limit: 1 << 20) }
    }
    do throws(UploadError) {
      try configuration.validate()
    } catch {
      throw Failure(.usage, "--upload: \(error)")
    }
    return (configuration, secrets)
  }
}
