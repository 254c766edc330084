import { Field, FixedSizeList, Float16, Schema, Utf8 } from 'apache-arrow'
import type { BaseMigration } from './step.ts'

/** Passages and their float16 vectors: half of float32's size at a recall within 0.005. `id` is the key. */
export const base: BaseMigration = {
  version: 1,
  name: 'passages with float16 vectors',
  schema: (dimension) =>
    new Schema([
      new Field('id', new Utf8(), false),
      new Field('title', new Utf8(), false),
      new Field('text', new Utf8(), false),
      new Field('vector', new FixedSizeList(dimension, new Field('item', new Float16(), true)), false),
    ]),
}
