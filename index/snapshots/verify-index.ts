import { CodedError } from '../../base/errors.ts'
import { readAlias, tableFolder } from '../versions/alias.ts'
import { pinForReading } from '../versions/read-pins.ts'
import { connectLance } from '../table/lance.ts'
import { checkFiles, damage, recordUnknown, type CheckedFiles } from './integrity.ts'
import type { TableOptions } from './replace.ts'
import { lastSoundSnapshot } from './snapshots.ts'
import { countedRows } from './verify.ts'

export interface VerifiedIndex {
  readonly passages: number
  /** Files that are as they were committed. */
  readonly files: number
  readonly bytes: number
  /** Files that had no checksum, and have one from now on. */
  readonly recorded: number
}

/**
 * Reads the table that is in service through: each file as it was committed, no row missing and no id twice. Files without a
 * checksum get one, so that what changes later is found.
 * @throws index_missing; index_invalid naming what is damaged, and the last snapshot that is not
 */
export async function verifyIndex(options: TableOptions, onBytes?: (done: number, total: number) => void): Promise<VerifiedIndex> {
  const { dir, table } = options
  const storedAs = (await readAlias(dir, table))?.stored_as
  if (typeof storedAs !== 'string')
    throw new CodedError('index_missing', `There is no table "${table}" in ${dir}: nothing to verify.`, { field: 'table' })
  const folder = tableFolder(dir, storedAs)
  const end = await pinForReading({ dir, storedAs })
  const connection = await connectLance(dir, 0)
  try {
    const checked: CheckedFiles = new Map()
    const { sound, bytes, unknown, damaged } = await checkFiles(folder, checked, onBytes)
    const [first] = damaged
    if (first !== undefined) throw damage(folder, `the table "${table}"`, first, await lastSoundSnapshot(options, checked))
    const passages = await countedRows(await connection.openTable(storedAs))
    await recordUnknown(folder, unknown)
    return { passages, files: sound, bytes, recorded: unknown.length }
  } finally {
    connection.close()
    await end()
  }
}
