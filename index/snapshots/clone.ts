import { basename } from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { at } from '../../base/at.ts'
import { eachOf } from '../store/each-of.ts'
import { storeOf, within } from '../store/store-of.ts'
import type { FileInfo } from '../store/store.ts'
import { CHECKSUMS } from '../table/checksums.ts'
import { manifestFiles, VERSIONS } from '../table/manifest.ts'
import { TableSync } from '../table/table-sync.ts'

/** Folders of immutable files: hard links to them are free. */
const WRITTEN_ONCE = ['data', '_deletions', '_indices', '_transactions']
const LEFT_OUT = [VERSIONS, '_quarantine', CHECKSUMS]
/** Files copied concurrently. */
const AT_ONCE = 16

/**
 * Clones the newest version of a stored table: by hard links where possible, else by copies within the store. The tables are independent
 * from then on. The caller holds the writer lock; durable when it resolves. Compaction may run concurrently: the files of a version outlive
 * it by far.
 * @param from,to folders of stored tables; `to` must not exist
 * @throws disk_full; conflict if the version was cleaned up in between
 */
export async function cloneTable(from: string, to: string): Promise<void> {
  const { files } = storeOf(from)
  // A file of an earlier version that disappears is not needed.
  const copy = async (file: FileInfo): Promise<void> => {
    const writtenOnce = WRITTEN_ONCE.includes(topOf(file))
    await files.copy(within(from, file.name), within(to, file.name), { bytes: file.bytes, writtenOnce })
  }
  try {
    // First: a checksum of a later manifest than the copied one would show that this is missing.
    for await (const { name, ...file } of files.walk(within(from, CHECKSUMS))) await copy({ ...file, name: `${CHECKSUMS}/${name}` })
    const newest = `${VERSIONS}/${at(await manifestFiles(from), 0)}`
    const [manifest, others]: [FileInfo[], FileInfo[]] = [[], []]
    for await (const file of files.walk(from)) {
      if (file.name === newest) manifest.push(file)
      else if (!LEFT_OUT.includes(topOf(file)) && !basename(file.name).startsWith('.tmp')) others.push(file)
    }
    await eachOf(others, AT_ONCE, copy)
    await eachOf(manifest, AT_ONCE, copy)
  } catch (error) {
    throw failureOf(error) ?? error
  }
  if ((await manifestFiles(to)).length === 0)
    throw new CodedError('conflict', 'The version was removed while it was being copied. Try again.')
  await TableSync.ofCopy(to).flush()
}

function topOf({ name }: FileInfo): string {
  return at(name.split('/'), 0)
}

/** Bytes of the files in a folder without another hard link: what deleting it would free. */
export async function ownBytes(folder: string): Promise<number> {
  let bytes = 0
  for await (const file of storeOf(folder).files.walk(folder)) if (!file.shared) bytes += file.bytes
  return bytes
}
