// swift-tools-version: 6.2
import PackageDescription

// The layers of docs/architecture.md. Arrows point at what is imported; `scripts/check` builds with
// `--explicit-target-dependency-import-check error`, so an import that is not listed here does not compile.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .strictMemorySafety(),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  // Regex and the string searches beside it are 1.4 MB of a budget of 10: without the import they do not compile.
  .unsafeFlags(["-disable-implicit-string-processing-module-import"]),
  // Tests run with the checks of exclusive access. In what is shipped they were 8 % of the instructions of a copied packet.
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

/// Tests read and write C memory only through the modules they test, and may use Foundation.
let relaxed: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
]

/// What waits for a network or runs once a command may as well be small: that buys room below 10 MB.
let small: [SwiftSetting] = strict + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

func module(_ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = strict) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name + "Tests", dependencies: dependencies + ["TestKit"], exclude: [], resources: [],
    swiftSettings: relaxed)
}

let package = Package(
  name: "segrec",
  products: [.executable(name: "segrec", targets: ["segrec"])],
  targets: [
    .systemLibrary(name: "CLibAV", pkgConfig: "libavdevice"),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl"),
    .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd"),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib"),
    .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0"),

    // Imports nothing, not even Glibc, whose module map would bring the mathematics library along.
    .target(name: "HLS", swiftSettings: strict, linkerSettings: [.linkedLibrary("m")]),
    module("Platform", [], small),
    module("LibAV", ["CLibAV"], small),

    module("Storage", ["HLS", "Platform"], small),
    module("HTTP", ["Platform", "CCurl", "CMicroHTTPD", "CZlib", "CLibXML2"], small),

    module("Recording", ["LibAV", "Storage", "HLS", "Platform"], small),
    module("Delivery", ["HTTP", "Storage", "HLS", "Platform"], small),
    module("Origin", ["HTTP", "Storage", "HLS", "Platform", "LibAV"], small),

    .executableTarget(
      name: "segrec", dependencies: ["Recording", "Delivery", "Origin", "Storage", "HTTP", "HLS", "Platform", "LibAV"],
      swiftSettings: small),

    .target(name: "TestKit", path: "Tests/TestKit", swiftSettings: relaxed),
    tests("HLS", ["HLS"]),
    tests("Platform", ["Platform"]),
    tests("LibAV", ["LibAV"]),
    tests("Storage", ["Storage", "HLS", "Platform"]),
    tests("HTTP", ["HTTP", "Platform"]),
    tests("Recording", ["Recording", "LibAV", "Storage", "HLS", "Platform"]),
    tests("Delivery", ["Delivery", "HTTP", "Storage", "HLS", "Platform"]),
    tests("Origin", ["Origin", "HTTP", "Storage", "HLS", "Platform", "LibAV"]),
    tests("segrec", ["segrec", "HLS", "Platform"]),
  ]
)
