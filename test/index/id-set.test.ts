import t from 'tap'
import { IdSet } from '../../index/id-set.ts'

await t.test('ids are told apart through many growths', (t) => {
  const set = new IdSet()
  const ids = Array.from({ length: 60_000 }, (_, i) => `passage ${i}`)
  t.ok(ids.every((id) => set.add(id)))
  t.equal(set.size, ids.length)
  t.notOk(ids.some((id) => set.add(id)))
  t.equal(set.size, ids.length)
  t.ok(set.add(''))
  t.end()
})
