import type { Migration } from './migration.ts'

export { base } from './0003-base.ts'

/** Every migration after the base, in order. */
export const migrations: readonly Migration[] = []
