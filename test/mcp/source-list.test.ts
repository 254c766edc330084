import t from 'tap'
import type { IndexInfo } from '../../index/view.ts'
import { sourcesOf } from '../../src/mcp/source-counts.ts'

/** An index of which every count is held until it is let go. */
function heldIndex() {
  const held: { done: () => void; fail: (error: Error) => void }[] = []
  let version = 1
  let storedAs = 'law.1'
  const index = {
    info: () => Promise.resolve({ storedAs, version } as IndexInfo),
    sources: () =>
      new Promise<{ source: string; passages: number }[]>((resolve, reject) => {
        const counted = version
        held.push({ done: () => resolve([{ source: `at version ${counted}`, passages: 1 }]), fail: reject })
      }),
  }
  return { index, held, change: () => version++, replace: () => (storedAs = 'law.2') }
}

t.test('sources are counted once for a version, at most once a minute, whoever asks', async (t) => {
  const { index, held, change } = heldIndex()
  let time = 0
  const list = () => sourcesOf(index, 60_000, () => time)
  const both = [list(), list()]
  while (held.length === 0) await Promise.resolve()
  held[0]?.done()
  t.same(await Promise.all(both), [[{ source: 'at version 1', passages: 1 }], [{ source: 'at version 1', passages: 1 }]])
  time = 100_000
  await list()
  t.equal(held.length, 1, 'an unchanged table is not read again')
  change()
  const changed = list()
  while (held.length === 1) await Promise.resolve()
  held[1]?.done()
  t.same(await changed, [{ source: 'at version 2', passages: 1 }])
  change()
  time += 59_000
  t.same(await list(), [{ source: 'at version 2', passages: 1 }])
  t.equal(held.length, 2, 'nor is a changed one within a minute')
})

t.test('a collection that was deleted and created again is counted at once, also at the version of the earlier one', async (t) => {
  const { index, held, replace } = heldIndex()
  const list = () => sourcesOf(index, 60_000, () => 0)
  const before = list()
  while (held.length === 0) await Promise.resolve()
  held[0]?.done()
  await before
  replace()
  const after = list()
  while (held.length === 1) await Promise.resolve()
  held[1]?.done()
  t.equal((await after).length, 1)
  t.equal(held.length, 2)
})

t.test('a count that failed is tried again', async (t) => {
  const { index, held } = heldIndex()
  const list = () => sourcesOf(index)
  const failing = list()
  while (held.length === 0) await Promise.resolve()
  held[0]?.fail(new Error('unreadable'))
  await t.rejects(failing, /unreadable/)
  const again = list()
  while (held.length === 1) await Promise.resolve()
  held[1]?.done()
  t.equal((await again).length, 1)
})
