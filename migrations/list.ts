import type { Migration } from './step.ts'
import { sourceAndContentHash } from './0002-source-and-content-hash.ts'
import { METADATA_COLUMNS, passageMetadata } from './0003-passage-metadata.ts'

export { base } from './0001-base.ts'
export { METADATA_COLUMNS }
/** Version that software must know of a table in which metadata was written. */
export const METADATA_VERSION = passageMetadata.version

/** Every step after the base, in order. */
export const migrations: readonly Migration[] = [sourceAndContentHash, passageMetadata]
