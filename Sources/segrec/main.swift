import Platform

let commands: [any Command.Type] = [
  RecordCommand.self, UploadCommand.self, ServeCommand.self, StitchCommand.self, ExportCommand.self,
  CleanCommand.self, StatusCommand.self,
]
Exit.now(runProgram(CommandLine.arguments, commands: commands).rawValue)
