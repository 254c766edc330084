import t from 'tap'
import { stringsOf } from '../../../index/table/rows.ts'
import { utf8 } from '../../../index/table/metadata-columns.ts'
import { arrow } from '../../../migrations/arrow.ts'

const { tableFromIPC, tableToIPC, Table, Field, RecordBatch, Schema, Struct, Utf8, makeData } = arrow

/** The values as they come back from the bytes of a column. */
function stored(values: readonly (string | undefined)[]): unknown[] {
  const fields = [new Field('text', new Utf8(), true)]
  const struct = makeData({ type: new Struct(fields), length: values.length, nullCount: 0, children: [utf8(values)] })
  const table = tableFromIPC(tableToIPC(new Table([new RecordBatch(new Schema(fields), struct)])))
  t.equal(table.getChild('text')?.nullCount, values.filter((value) => value === undefined).length)
  const at = stringsOf(table, 'text')
  return values.map((_, row) => at(row))
}

t.test('strings come back as they were', (t) => {
  t.same(stored([]), [])
  t.same(stored(['a', '', 'bc']), ['a', '', 'bc'])
  t.same(stored(['é', undefined, 'x€😀', '']), ['é', '', 'x€😀', ''])
  t.end()
})

t.test('halves of a character in two texts stay two', (t) => {
  t.same(stored(['a\ud83d', '\ude00b', 'c']), ['a\ufffd', '\ufffdb', 'c'])
  t.end()
})
