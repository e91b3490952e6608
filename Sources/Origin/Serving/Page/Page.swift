import HTTP

/// The page for people: one document with its style and script inside, nothing from elsewhere.
enum Page {
  static let html =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>segrec</title>"
    + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    + "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"\(icon)\">"
    + "<style>\(style)</style></head><body>\(body)<script>\(script)</script></body></html>"

  /// A red dot.
  private static let icon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    + "%3Ccircle cx='8' cy='8' r='6' fill='%23d33'/%3E%3C/svg%3E"

  /// Only the script and style that are part of the page may act in it: a recording's name can never become code.
  static func securityPolicy() throws(ClientError) -> String {
    let script = base64(try SHA256Digest.of(Array(script.utf8)))
    let style = base64(try SHA256Digest.of(Array(style.utf8)))
    return "default-src 'none'; script-src 'sha256-\(script)'; style-src 'sha256-\(style)'; connect-src 'self'; "
      + "media-src 'self' blob:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  }

  private static let body = """
    <header><h1><a href="#/">segrec</a></h1><p id="status" role="status"></p>\
    <button id="signOut" class="quiet" hidden>Forget token</button></header>\
    <main><section id="list"><div class="bar"><label for="filter">Recordings</label>\
    <input id="filter" type="search" placeholder="Filter by name ( / )" autocomplete="off"></div>\
    <ul id="recordings"></ul><p id="empty" hidden></p></section>\
    <section id="player" hidden><div class="bar"><a class="back" href="#/">&larr; All recordings</a>\
    <h2 id="title" tabindex="-1"></h2><span id="badge"></span></div>\
    <p id="gone" role="alert" hidden></p><div id="there"><div id="stage"><video id="video" controls playsinline></video><p id="message" role="alert" hidden></p></div>\
    <div id="controls"><button data-do="back30" title="Back 30 s">&minus;30 s</button>\
    <button data-do="back10" title="Back 10 s (J)">&minus;10 s</button>\
    <button data-do="play" title="Play or pause (K or space)">Play</button>\
    <button data-do="on10" title="On 10 s (L)">+10 s</button>\
    <button data-do="live" id="toLive" title="Jump to the newest (End)" hidden>Jump to live</button>\
    <label>Speed <select id="speed"><option>0.5</option><option selected>1</option><option>1.5</option>\
    <option>2</option></select></label>\
    <label id="soundLabel" hidden>Sound <select id="sound"></select></label>\
    <label id="qualityLabel" hidden>Quality <select id="quality"></select></label></div>\
    <div id="strip"><div id="peek" hidden><span id="peekTime"></span></div></div>\
    <div id="timeline" role="slider" tabindex="0" aria-label="Position in the recording">\
    <div id="spans"></div><div id="head" hidden></div></div>\
    <div id="axis"><span id="from"></span><span id="at"></span><span id="to"></span></div>\
    <p id="legend"><i class="present"></i> recorded <i class="late"></i> came late <i class="missing"></i> missing \
    <i class="new"></i> a new run <i class="break"></i> not recording</p><p id="facts"></p><p id="health" hidden></p>\
    <p id="links"></p><p class="keys">Keys: K play, J and L 10 s, arrows 5 s, Home, End newest, M mute, F full screen, \
    Esc list; in the list: / filter</p></div></section>\
    <form id="signIn" hidden><h2>A token is needed</h2><label for="token">Token for watching</label>\
    <input id="token" type="password" autocomplete="current-password" required>\
    <button>Watch</button><p id="signInMessage" role="alert"></p></form></main>
    """
}

extension OriginHandler {
  func page(_ request: HeaderFields) -> Response {
    do throws(ClientError) {
      var response = derived(Array(Page.html.utf8), contentType: "text/html; charset=utf-8", request)
      response.headers.append("Content-Security-Policy", try Page.securityPolicy())
      response.headers.append("X-Content-Type-Options", "nosniff")
      response.headers.append("Referrer-Policy", "no-referrer")
      return response
    } catch {
      return .text(500, "\(error)")
    }
  }
}
