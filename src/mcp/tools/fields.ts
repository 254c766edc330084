import { Type } from '#typebox'
import { CollectionNameSchema } from '../../../index/table-name.ts'

/** The only filter that agents can use without knowing the corpus: `list_sources` returns its values. */
export const sourceField = Type.Optional(
  Type.String({ minLength: 1, maxLength: 1000, description: 'Only passages from this source, as returned by list_sources.' }),
)

/** Collection of a call: the server passes its services to the tool. */
export const collectionField = Type.Optional(CollectionNameSchema)

/** Heading of a passage in the text of a result. */
export function heading({ id, title, source }: { readonly id: string; readonly title: string; readonly source?: string }): string {
  const named = title === '' ? `passage ${id}` : `${title} (id ${id})`
  return source === undefined || source === '' ? named : `${named}, ${source}`
}
