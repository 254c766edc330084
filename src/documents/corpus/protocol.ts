import { Type, type Static } from '#typebox'
import type { DocumentLimits } from '../contract.ts'
import type { DocumentPassages, ReadDocument } from '../schema.ts'
import { DOCUMENT_PROBLEMS, type DocumentProblem } from '../errors.ts'
import type { TypedFile } from '../blocks/read.ts'

export interface ReadTask extends TypedFile {
  /** File name; used as the title if the file has none. */
  readonly name: string
  /** Words per passage. Absent: the text as a whole. */
  readonly words?: number
  readonly limits: DocumentLimits
  /** Languages of OCR; empty or absent: none. */
  readonly ocr?: string
}

export const ProblemSchema = Type.Object({
  problem: Type.Unsafe<DocumentProblem>(Type.Enum([...DOCUMENT_PROBLEMS])),
  message: Type.String(),
})

/** What the process sends. Untrusted, since a hostile file may control it. */
export type ReadResult = DocumentPassages | ReadDocument | Static<typeof ProblemSchema>
