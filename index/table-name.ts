import { Type } from 'typebox'

/** What a table may be called: the name is part of file names, and of addresses in an object store. */
export const TABLE_NAME = '^[A-Za-z][A-Za-z0-9_-]{0,63}$'
/** The problem of another name. */
export const TABLE_NAME_FORM = 'must be 1 to 64 letters, digits, "-" and "_", a letter first'

export const CollectionNameSchema = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: TABLE_NAME,
  description: 'Collection to search. Default: CEPE_TABLE, or the first collection of the key.',
})
