import { Type, type Static } from 'typebox'
import { ERROR_CODES } from '../../../base/errors.ts'
import { DOCUMENT_TYPES, type DocumentLimits } from '../contract.ts'
import { DOCUMENT_PROBLEMS, type DocumentProblem } from '../errors.ts'
import type { TypedFile } from '../blocks/read.ts'

/** A file for the process that cuts it into passages. */
export interface PassageJob extends TypedFile {
  /** The file's name, its title where the file does not say. */
  readonly name: string
  /** Words of a passage. */
  readonly words: number
  readonly limits: DocumentLimits
}

/** What came of it: passages, or why there are none. A process that reads files of others may send anything. */
export const PassageResultSchema = Type.Union([
  Type.Object({
    type: Type.Enum([...DOCUMENT_TYPES]),
    passages: Type.Array(
      Type.Object({
        title: Type.String(),
        text: Type.String(),
        heading: Type.String(),
        page: Type.Optional(Type.Integer({ minimum: 1 })),
      }),
    ),
  }),
  Type.Object({
    problem: Type.Unsafe<DocumentProblem>(Type.Enum([...DOCUMENT_PROBLEMS])),
    code: Type.Enum([...ERROR_CODES]),
    message: Type.String(),
  }),
])
export type PassageResult = Static<typeof PassageResultSchema>
