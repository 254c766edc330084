import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'

/** Shifts the clock of a process by the milliseconds that a file names, which is read at every look. */
const SHIFTED = `
import { readFileSync } from 'node:fs'
const { Date: Real } = globalThis
const now = () => Real.now() + Number(readFileSync(process.env.TEST_CLOCK, 'utf8'))
globalThis.Date = class extends Real {
  constructor(...given) { given.length === 0 ? super(now()) : super(...given) }
  static now() { return now() }
}
`

/** A clock for started processes, which a test sets while they run. */
export async function settableClock(t: Test) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-clock-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const file = path.join(dir, 'shift')
  const set = (ms: number) => writeFile(file, String(ms))
  await set(0)
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(SHIFTED)}`
  return { env: { NODE_OPTIONS, TEST_CLOCK: file }, set }
}
