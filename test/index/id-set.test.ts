import t from 'tap'
import { IdMap, IdSet } from '../../index/id-set.ts'

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

await t.test('numbers of ids come back through many growths; the first one stays', (t) => {
  const map = new IdMap()
  const ids = Array.from({ length: 60_000 }, (_, i) => `passage ${i}`)
  t.ok(ids.every((id, i) => map.add(id, 2 ** 32 - 1 - i)))
  t.notOk(map.add('passage 7', 0))
  t.ok(ids.every((id, i) => map.get(id) === 2 ** 32 - 1 - i))
  t.equal(map.get('passage 60000'), undefined)
  t.end()
})
