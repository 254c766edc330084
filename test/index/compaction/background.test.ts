import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { backgroundCompaction } from '../../../index/compaction/background.ts'

t.test('files that are kept for longer than a timer takes are not looked for without a pause', async (t) => {
  const warnings: string[] = []
  const tidying = backgroundCompaction(
    { dir: t.testdir({}), table: 'passages' },
    { surplus: 1, keepMs: 100_000 * 60_000, onWarning: (message) => warnings.push(message) },
  )
  t.teardown(() => tidying.close())
  let looks = 0
  tidying.watch(() => {
    looks++
    return Promise.resolve(undefined)
  })
  await sleep(50)
  t.equal(looks, 0)
  t.same(warnings, [])
})
