import '../../models/no-telemetry.ts'

// Loaded before every test file. Processes under test are started as users start them: what forks inherit is nothing.
process.execArgv = []
