import { arrow } from './arrow.ts'

/**
 * The columns of an empty table, of `dimension` numbers per vector. Tables of earlier versions are rejected.
 *
 * Passages and their float16 vectors: half of float32's size at a recall within 0.005. `id` is the key, `source` a filter, `hash` saves
 * embedding an unchanged passage again. `metadata` is what a corpus says of a passage beside its text (JSON), `metadata_labels` a list
 * of its names and values, which equal ones are found in.
 */
export const base = {
  version: 3,
  schema: (dimension: number) =>
    new arrow.Schema([
      new arrow.Field('id', new arrow.Utf8(), false),
      new arrow.Field('title', new arrow.Utf8(), false),
      new arrow.Field('text', new arrow.Utf8(), false),
      new arrow.Field('vector', new arrow.FixedSizeList(dimension, new arrow.Field('item', new arrow.Float16(), true)), false),
      new arrow.Field('source', new arrow.Utf8(), true),
      new arrow.Field('hash', new arrow.Utf8(), true),
      new arrow.Field('metadata', new arrow.Utf8(), true, new Map([['ARROW:extension:name', 'arrow.json']])),
      new arrow.Field('metadata_labels', new arrow.List(new arrow.Field('item', new arrow.Utf8(), true)), true),
    ]),
}
