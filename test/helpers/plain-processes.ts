import '../../base/no-telemetry.ts'
/**
 * Loaded before every test file. The runner's loader follows each process that a test starts, to measure coverage, which is
 * off: it would double the time that a process needs to start. Processes under test are started as users start them.
 */
import processOnSpawn from 'process-on-spawn'

processOnSpawn.addListener(({ env }) => {
  if (env['NODE_OPTIONS']?.includes('@tapjs/processinfo')) delete env['NODE_OPTIONS']
})
// What forks inherit: nothing.
process.execArgv = []
