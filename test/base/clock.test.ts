import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { ageOf, forwardJump } from '../../base/clock.ts'
import { storeOf } from '../../index/store/store-of.ts'

const HOUR = 3_600_000
const real = { now: Date.now, steady: performance.now.bind(performance) }
t.afterEach(() => {
  Date.now = real.now
  performance.now = real.steady
})

t.test('a clock that is set forward makes nothing old, and one that is set back nothing older', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-age-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const file = path.join(dir, 'heartbeat')
  await writeFile(file, '')
  const { files } = storeOf(dir)
  const made = real.now()
  t.ok((await files.age(file)) < 60_000)

  Date.now = () => real.now() + HOUR
  t.ok((await files.age(file)) < 60_000, 'a file of just now')
  t.ok(ageOf(made) < 60_000)
  await utimes(file, new Date(), new Date(Date.now()))
  t.ok((await files.age(file)) < 60_000, 'one that was touched since')

  Date.now = () => real.now() - HOUR
  t.ok((await files.age(file)) < 60_000)
  t.equal(forwardJump(), 0)

  Date.now = () => real.now() + HOUR
  t.ok(ageOf(made) < 60_000, 'forward again')
  performance.now = () => real.steady() + HOUR
  Date.now = () => real.now() + 2 * HOUR
  t.equal(forwardJump(), 0, 'after ten minutes the clock is believed')
  t.ok(ageOf(made) >= 2 * HOUR)
})
