import Testing

@testable import segrec

@Suite struct `Command that sends a spool later` {
  @Test func `it goes to the same place as the same person`() {
    var arguments = UploadArguments()
    arguments.address = "s3://bucket/it's"
    arguments.tokenFile = "/etc/token"
    arguments.netrcFile = "/etc/netrc"
    arguments.certificate = "/etc/me.pem"
    arguments.key = "/etc/me.key"
    arguments.authorities = "/etc/ca.pem"
    arguments.bucket.endpoint = "http://h:9000"
    arguments.bucket.region = "eu"
    #expect(
      arguments.command(spool: "/data/my spool")
        == "segrec upload --spool '/data/my spool' --upload 's3://bucket/it'\\''s' --token-file /etc/token"
        + " --netrc-file /etc/netrc --cert /etc/me.pem --key /etc/me.key --cacert /etc/ca.pem"
        + " --s3-endpoint http://h:9000 --s3-region eu")
  }

  @Test func `it is short where nothing else was said`() {
    var arguments = UploadArguments()
    arguments.address = "http://h/rec"
    #expect(arguments.command(spool: "/s") == "segrec upload --spool /s --upload http://h/rec")
  }
}
