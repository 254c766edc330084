import { Type, type Static } from '#typebox'
import { DOCUMENT_TYPES, type DocumentLimits } from '../contract.ts'
import { DOCUMENT_PROBLEMS, type DocumentProblem } from '../errors.ts'
import type { TypedFile } from '../blocks/read.ts'

/** A file to read. */
export interface ReadTask extends TypedFile {
  /** File name; used as the title if the file has none. */
  readonly name: string
  /** Words per passage. Absent: the text as a whole. */
  readonly words?: number
  readonly limits: DocumentLimits
}

const Read = { type: Type.Enum([...DOCUMENT_TYPES]), warnings: Type.Array(Type.String()) }

export const PassagesSchema = Type.Object({
  ...Read,
  passages: Type.Array(
    Type.Object({ title: Type.String(), text: Type.String(), heading: Type.String(), page: Type.Optional(Type.Integer({ minimum: 1 })) }),
  ),
})

export const TextSchema = Type.Object({ ...Read, title: Type.String(), text: Type.String(), pages: Type.Array(Type.Integer()) })

export const ProblemSchema = Type.Object({
  problem: Type.Unsafe<DocumentProblem>(Type.Enum([...DOCUMENT_PROBLEMS])),
  message: Type.String(),
})

/** What the process sends. Untrusted, since a hostile file may control it. */
export type ReadResult = Static<typeof PassagesSchema> | Static<typeof TextSchema> | Static<typeof ProblemSchema>
