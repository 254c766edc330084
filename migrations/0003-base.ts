import { Field, FixedSizeList, Float16, List, Schema, Utf8 } from 'apache-arrow'

/**
 * The columns of an empty table, of `dimension` numbers per vector. Tables of earlier versions are rejected.
 *
 * Passages and their float16 vectors: half of float32's size at a recall within 0.005. `id` is the key, `source` a filter, `hash` saves
 * embedding an unchanged passage again. `metadata` is what a corpus says of a passage beside its text (JSON), `metadata_labels` a list
 * of its names and values, which equal ones are found in.
 */
export const base = {
  version: 3,
  schema: (dimension: number): Schema =>
    new Schema([
      new Field('id', new Utf8(), false),
      new Field('title', new Utf8(), false),
      new Field('text', new Utf8(), false),
      new Field('vector', new FixedSizeList(dimension, new Field('item', new Float16(), true)), false),
      new Field('source', new Utf8(), true),
      new Field('hash', new Utf8(), true),
      new Field('metadata', new Utf8(), true, new Map([['ARROW:extension:name', 'arrow.json']])),
      new Field('metadata_labels', new List(new Field('item', new Utf8(), true)), true),
    ]),
}
