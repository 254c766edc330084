import type { Migration } from './step.ts'
import { sourceAndContentHash } from './0002-source-and-content-hash.ts'

export { base } from './0001-base.ts'

/** Every step after the base, in order. */
export const migrations: readonly Migration[] = [sourceAndContentHash]
