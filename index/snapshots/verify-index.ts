import { storedNameOf, tableFolder } from '../versions/alias.ts'
import { pinForReading } from '../versions/read-pins.ts'
import { Checksums } from '../table/checksums.ts'
import { connectLance } from '../table/lance.ts'
import { damage } from '../versions/recover.ts'
import { type CheckedFiles, checkFiles, countedRows } from './verify.ts'
import type { TableLocation } from '../contract.ts'
import { lastSoundSnapshot } from './snapshots.ts'

/**
 * Verifies the live table: every file unchanged, no row missing, no duplicate id. Unless `readOnly`, records checksums for files without
 * one, so that later changes are detected.
 * @returns `recorded`: number of files that had no checksum and have one now; `unrecorded`: those left without
 * @throws index_missing; index_invalid naming the damage and the last intact snapshot
 */
export async function verifyIndex(options: TableLocation, onBytes?: (done: number, total: number) => void, readOnly = false) {
  const { dir, table } = options
  const storedAs = await storedNameOf(options)
  const folder = tableFolder(dir, storedAs)
  await using _pin = await pinForReading({ dir, storedAs })
  using connection = await connectLance(dir, 0)
  const checked: CheckedFiles = new Map()
  const { sound, bytes, unknown, damaged } = await checkFiles(folder, checked, onBytes)
  const [first] = damaged
  if (first !== undefined) throw damage(`the table "${table}"`, first, await lastSoundSnapshot(options, checked), table)
  const passages = await countedRows(await connection.openTable(storedAs))
  const checksums = new Checksums(folder)
  const isRecorded = !readOnly && (await checksums.add(unknown))
  await checksums.settled()
  return { passages, files: sound, bytes, recorded: isRecorded ? unknown.length : 0, unrecorded: isRecorded ? 0 : unknown.length }
}
