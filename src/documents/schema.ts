import { Type, type Static } from 'typebox'
import { DOCUMENT_TYPES, type DocumentType } from './type.ts'

const Read = {
  type: Type.Unsafe<DocumentType>(Type.Enum([...DOCUMENT_TYPES])),
  /** What of the file is not in the text or the passages, as sentences. */
  warnings: Type.Array(Type.String()),
}

export const ReadDocumentSchema = Type.Object({
  ...Read,
  /** Title from the file's own metadata; empty without one. */
  title: Type.String(),
  text: Type.String(),
  /** Offset of each page's first character; empty without pages. */
  pages: Type.Array(Type.Integer()),
})
/** Text of a file: plain text as it is, other types as their blocks, with Markdown headings. */
export type ReadDocument = Static<typeof ReadDocumentSchema>

const DocumentPassageSchema = Type.Object({
  /** The document's title and the headings above the passage: "Handbook > Leave > Parental leave". */
  title: Type.String(),
  text: Type.String(),
  /** The headings alone; empty before the first. */
  heading: Type.String(),
  /** 1-based page of its first character. */
  page: Type.Optional(Type.Integer({ minimum: 1 })),
})
export type DocumentPassage = Static<typeof DocumentPassageSchema>

export const DocumentPassagesSchema = Type.Object({ ...Read, passages: Type.Array(DocumentPassageSchema) })
export type DocumentPassages = Static<typeof DocumentPassagesSchema>
