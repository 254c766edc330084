import { Type, type Static } from '#typebox'
import { FILE_PROBLEMS } from '../../../index/read/contract.ts'

/** A file being received. */
export interface UploadedFile {
  readonly name: string
  readonly bytes: AsyncIterable<Buffer>
  /** Encoding named by its content type. */
  readonly encoding?: string | undefined
}

/** List of an upload's files, stored beside them: stored files under numbers, unchanged ones, and those left out. */
export const UploadListSchema = Type.Array(
  Type.Union([
    Type.Object({
      file: Type.String(),
      /** Name in the folder. Paths from an upload are never used on disk. */
      stored: Type.String({ pattern: '^[0-9]{6}$' }),
      bytes: Type.Integer(),
      modified: Type.Optional(Type.String()),
      media_type: Type.Optional(Type.String()),
      encoding: Type.Optional(Type.String()),
    }),
    Type.Object({ file: Type.String(), unchanged: Type.Literal(true) }),
    Type.Object({ file: Type.String(), problem: Type.Enum([...FILE_PROBLEMS]), detail: Type.String() }),
  ]),
)
export type UploadList = Static<typeof UploadListSchema>

/** Limits of expanding archives. */
export interface ArchiveLimits {
  /** Files, folders and links. */
  readonly entries: number
  /** Maximum expanded bytes of all files of an upload. */
  readonly bytes: number
  /** Maximum ratio of expanded to compressed bytes, applied beyond 64 MiB. */
  readonly ratio: number
}
