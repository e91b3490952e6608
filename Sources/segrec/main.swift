import LibAV
import Platform

let commands: [any Command.Type] = [
  RecordCommand.self, UploadCommand.self, ServeCommand.self, StitchCommand.self, ExportCommand.self,
  CleanCommand.self, StatusCommand.self,
]
// libav writes to standard error by itself unless told not to; commands that use it say what becomes of its lines.
MediaLog.register(.error, sink: nil)
Exit.now(runProgram(CommandLine.arguments, commands: commands).rawValue)
