import type { PassageMetadata } from '../../index/passage-metadata.ts'
import { isSourceFile } from '../jobs/source-file.ts'

/** The fields of a link. */
interface Linked {
  readonly id: string
  readonly source?: string
  readonly metadata?: PassageMetadata
}

/**
 * Returns paths of passages' files, with the page of a PDF; undefined if the source is not a file name. @param basePath proxy path of the
 * routes
 */
export function fileLinks(basePath: string): (passage: Linked, collection?: string) => string | undefined {
  return ({ id, source, metadata }, collection) => {
    if (source === undefined || !isSourceFile(source)) return undefined
    const page = metadata?.page
    const named = collection === undefined ? '' : `?collection=${collection}`
    return `${basePath}/v1/passages/${encodeURIComponent(id)}/file${named}${typeof page === 'number' ? `#page=${page}` : ''}`
  }
}
