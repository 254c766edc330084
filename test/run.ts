/**
 * Runs tests by tap, with its options and files as arguments, and says which were left out and which failed, and why.
 * Under CI a test that is left out for a reason that helpers/skips.ts does not list fails the run.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { SKIPS } from './helpers/skips.ts'
import { failedIn, skippedIn } from './helpers/results.ts'

const RESULTS = '.tap/test-results'

rmSync(RESULTS, { recursive: true, force: true })
// Tap's own rebuild for another set of plugins, at a first run, is not in effect until the next: each test would load the compiler.
if (!existsSync('.tap/plugins')) spawnSync('tap', ['build'], { stdio: 'inherit' })
const { status, error } = spawnSync('tap', process.argv.slice(2), { stdio: 'inherit' })
if (error) throw error
const written = existsSync(RESULTS) ? readdirSync(RESULTS, { recursive: true, encoding: 'utf8' }) : []
const files = written.filter((name) => name.endsWith('.tap')).sort()
const outputs = files.map((name) => ({ file: name.replace(/\.tap$/, ''), output: readFileSync(path.join(RESULTS, name), 'utf8') }))
const skipped = outputs.flatMap(({ file, output }) => skippedIn(file, output))
const failed = outputs.flatMap(({ file, output }) => failedIn(file, output))
const unlisted = skipped.filter(({ reason }) => !Object.values(SKIPS).some((known) => reason.startsWith(known)))

process.stdout.write(`${skipped.length} tests were left out.\n`)
for (const { file, name, reason } of skipped) process.stdout.write(`  ${file}: ${name} (${reason})\n`)
const isCi = process.env['CI'] === 'true'
if (isCi && unlisted.length > 0) {
  process.stdout.write(`${unlisted.length} of them for a reason that test/helpers/skips.ts does not list:\n`)
  for (const { file, name, reason } of unlisted) process.stdout.write(`  ${file}: ${name} (${reason || 'no reason given'})\n`)
}
// Last, so that the end of a log that was cut short still says why the run failed.
if (status !== 0) process.stdout.write(`${failed.length} asserts failed.\n`)
for (const { file, name, details } of failed) process.stdout.write(`${file}: ${name}\n${details}\n`)
process.exitCode = status !== 0 ? (status ?? 1) : isCi && unlisted.length > 0 ? 1 : 0
