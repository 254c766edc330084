import path from 'node:path/posix'
import { elementsOf } from '../xml.ts'
import type { ZipDocument } from '../zip.ts'

/** A relationship of a part of an Office document. */
export interface Related {
  readonly id: string
  /** Last segment of its type: "styles". */
  readonly type: string
  readonly part: string
}

/** The parts that a part refers to (ECMA-376, part 2); of the whole file for an empty name. */
export async function relatedParts(zip: ZipDocument, part: string): Promise<Related[]> {
  const folder = path.dirname(part)
  const xml = await partText(zip, path.join(folder, '_rels', `${path.basename(part)}.rels`))
  return elementsOf(xml, 'Relationship').map(({ attribs: { Id = '', Type = '', Target = '' } }) => ({
    id: Id,
    type: path.basename(Type),
    part: Target.startsWith('/') ? Target.slice(1) : path.join(folder, Target),
  }))
}

/** A part's XML; empty if there is none. */
export async function partText(zip: ZipDocument, name: string): Promise<string> {
  return zip.names.includes(name) ? (await zip.read(name)).toString() : ''
}
