import HLS
import Platform

/// The spool where none is named: the user's state directory (XDG Base Directory Specification 0.8), or the system's
/// for a service without a home.
func defaultSpool() -> String {
  if let state = Environment.value("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/segrec/spool" }
  if let home = Environment.value("HOME"), home.hasPrefix("/") { return home + "/.local/state/segrec/spool" }
  return "/var/spool/segrec"
}

/// A recording's name where none is given: when it began, on which machine, and four random digits, so that two
/// machines of one name do not meet on a server.
func defaultRecordingName(_ start: WallClockTime, host: String, random: UInt16) -> RecordingName {
  let digits = String(random, radix: 16)
  let suffix = String(repeating: "0", count: 4 - digits.utf8.count) + digits
  let time = String(start.compact.prefix(15)) + "Z"
  let safe = RecordingName(madeSafe: host).map { String($0.text.prefix(64)) } ?? "host"
  return RecordingName(madeSafe: "\(time)-\(safe)-\(suffix)") ?? .main
}
