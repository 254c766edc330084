import type { PassageMetadata } from '../../index/passage-metadata.ts'
import { isSourceFile } from '../jobs/source-file.ts'

/** What a link is made of. */
interface Linked {
  readonly id: string
  readonly source?: string
  readonly metadata?: PassageMetadata
}

/** Paths of the files of passages, at their page in a PDF; none where the source is no file by its name. @param basePath under which a proxy serves the routes */
export function fileLinks(basePath: string): (passage: Linked) => string | undefined {
  return ({ id, source, metadata }) => {
    if (source === undefined || !isSourceFile(source)) return undefined
    const page = metadata?.page
    return `${basePath}/v1/passages/${encodeURIComponent(id)}/file${typeof page === 'number' ? `#page=${page}` : ''}`
  }
}
