import Foundation
import TestKit
import Testing

@testable import Origin

@Suite struct `Page text` {
  @Test func `loads nothing from elsewhere and lets only its own script act`() throws {
    let served = try ServedTree()
    let answer = try served.client().request("GET", "/")
    #expect(answer.status == 200)
    #expect(answer["content-type"] == "text/html; charset=utf-8")
    #expect(!answer.text.contains("src=\"http") && !answer.text.contains("//cdn"))
    let policy = try #require(answer["content-security-policy"])
    #expect(policy.hasPrefix("default-src 'none'; script-src 'sha256-"))
    #expect(!policy.contains("unsafe"))
    #expect(answer["x-content-type-options"] == "nosniff")
  }
}
