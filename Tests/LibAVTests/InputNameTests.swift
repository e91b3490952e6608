import LibAV
import Testing

@Suite struct `Input name` {
  @Test(arguments: [
    ("rtsp://cam:s3cret@10.0.0.5/stream", "rtsp://10.0.0.5/stream"),
    ("rtsp://cam:p%40ss@10.0.0.5:554/s?token=s3cret", "rtsp://10.0.0.5:554/s?…"),
    ("http://u:p@ss@host/x", "http://host/x"),
    ("http://u:p/s3cret@host/x", "http://host/x"),
    ("http://host/a@b", "http://host/a@b"),
    ("https://host/x?key=s3cret", "https://host/x?…"),
    ("/home/me/a@b?c.mp4", "/home/me/a@b?c.mp4"),
    ("-", "standard input"),
    ("/dev/video0", "/dev/video0"),
  ])
  func `credentials and query values never show`(url: String, shown: String) {
    #expect(InputName(url: url).description == shown)
  }
}
