/**
 * Runs test files, the given ones or all but the long ones, each in a process of its own. Says which tests were left out and which failed,
 * and why. Under CI a test that is left out for a reason that helpers/skips.ts does not list fails the run.
 *
 * Tap's own runner follows each module that a test loads, to measure coverage, which is off here: a third of the time of a run.
 */
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import pLimit from 'p-limit'
import { filesUnder } from '../base/files.ts'
import { buildTap } from './helpers/build-tap.ts'
import { failedIn, skippedIn } from './helpers/results.ts'
import { runFile, type FileResult } from './helpers/run-file.ts'
import { SKIPS } from './helpers/skips.ts'

const RESULTS = '.tap/test-results'

const given = process.argv.slice(2)
const files = given.length > 0 ? given : (await filesUnder('dist-test/test')).filter((name) => /(?<!\.long)\.test\.js$/.test(name)).sort()
buildTap()
await rm(RESULTS, { recursive: true, force: true })
// One more than there are processors: many tests wait.
const limit = pLimit(availableParallelism() + 1)
const results = await Promise.all(files.map((file) => limit(async () => written(await runFile(file)))))
summarise(results)

/** Writes a file's TAP to RESULTS, and its outcome to the terminal. */
async function written(result: FileResult): Promise<FileResult> {
  const { file, output, seconds, problem } = result
  const kept = path.join(RESULTS, `${path.relative('.', file)}.tap`)
  await mkdir(path.dirname(kept), { recursive: true })
  await writeFile(kept, output)
  process.stdout.write(`${problem === undefined ? 'ok' : 'not ok'} - ${file} # ${seconds.toFixed(1)} s${problem ? `, ${problem}` : ''}\n`)
  return result
}

function summarise(results: readonly FileResult[]): void {
  const skipped = results.flatMap(({ file, output }) => skippedIn(file, output))
  process.stdout.write(`${skipped.length} tests were left out.\n`)
  for (const { file, name, reason } of skipped) process.stdout.write(`  ${file}: ${name} (${reason})\n`)
  const unlisted = skipped.filter(({ reason }) => !Object.values(SKIPS).some((known) => reason.startsWith(known)))
  const refused = process.env['CI'] === 'true' ? unlisted : []
  if (refused.length > 0) {
    process.stdout.write(`${refused.length} of them for a reason that test/helpers/skips.ts does not list:\n`)
    for (const { file, name, reason } of refused) process.stdout.write(`  ${file}: ${name} (${reason || 'no reason given'})\n`)
  }
  // Last, so that the end of a log that was cut short still says why the run failed.
  const bad = results.filter(({ problem }) => problem !== undefined)
  process.stdout.write(`${results.length} files, ${bad.length} failed.\n`)
  for (const { file, output, problem } of bad) {
    const failed = failedIn(file, output)
    if (failed.length === 0) process.stdout.write(`${file}: ${problem}; ${output.slice(-2000)}\n`)
    for (const { name, details } of failed) process.stdout.write(`${file}: ${name}\n${details}\n`)
  }
  process.exitCode = bad.length > 0 || refused.length > 0 ? 1 : 0
}
