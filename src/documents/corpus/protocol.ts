import { Type, type Static } from '#typebox'
import { ERROR_CODES } from '../../../base/errors.ts'
import { DOCUMENT_TYPES, type DocumentLimits } from '../contract.ts'
import { DOCUMENT_PROBLEMS, type DocumentProblem } from '../errors.ts'
import type { TypedFile } from '../blocks/read.ts'

/** A file to cut into passages. */
export interface PassageTask extends TypedFile {
  /** File name; used as the title if the file has none. */
  readonly name: string
  /** Words per passage. */
  readonly words: number
  readonly limits: DocumentLimits
}

/** Result: passages or an error. Untrusted, since a hostile file may control the process. */
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
