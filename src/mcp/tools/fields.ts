import { Type } from 'typebox'

/** The one condition that agents can fill in without knowing the corpus: `list_sources` names its values. */
export const sourceField = Type.Optional(
  Type.String({ minLength: 1, maxLength: 1000, description: 'Only passages from this source, as list_sources names it.' }),
)

/** How a passage is referred to in the text of a result. */
export function heading({ id, title, source }: { readonly id: string; readonly title: string; readonly source?: string }): string {
  const named = title === '' ? `passage ${id}` : `${title} (id ${id})`
  return source === undefined || source === '' ? named : `${named}, ${source}`
}
