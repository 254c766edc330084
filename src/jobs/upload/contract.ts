import { Type, type Static } from 'typebox'
import { FILE_PROBLEMS } from '../../../index/read/contract.ts'

/** A file on its way in. */
export interface UploadedFile {
  readonly name: string
  readonly bytes: AsyncIterable<Buffer>
}

/** What came in, as it is listed beside the files: those kept, under numbers, and those left out. */
export const ManifestSchema = Type.Array(
  Type.Union([
    Type.Object({
      file: Type.String(),
      /** Name in the folder: no path from an upload reaches the disk. */
      stored: Type.String({ pattern: '^[0-9]{6}$' }),
      bytes: Type.Integer(),
      modified: Type.Optional(Type.String()),
    }),
    Type.Object({ file: Type.String(), problem: Type.Enum([...FILE_PROBLEMS]), detail: Type.String() }),
  ]),
)
export type Manifest = Static<typeof ManifestSchema>

/** Bounds of what archives expand to. */
export interface ArchiveLimits {
  /** Files, folders and links. */
  readonly entries: number
  /** Bytes of all files that one upload brings, expanded. */
  readonly bytes: number
  /** Most bytes out per byte in, once 64 MiB have come out. */
  readonly ratio: number
}
