import { basename } from 'node:path'
import { CodedError, messageOf } from '../../base/errors.ts'
import { isDiskFull } from '../../base/failures.ts'
import { at } from '../../base/at.ts'
import { eachOf } from '../store/each-of.ts'
import { storeOf, within } from '../store/store-of.ts'
import type { FileInfo } from '../store/store.ts'
import { manifests } from '../versions/recover.ts'
import { TableSync } from '../table/table-sync.ts'

/** Folders whose files LanceDB writes once and never again: a second name for them costs nothing. */
const WRITTEN_ONCE = ['data', '_deletions', '_indices', '_transactions']
const LEFT_OUT = ['_versions', '_quarantine']
/** Files that are copied at a time. */
const AT_ONCE = 16

/**
 * Makes another stored table of the newest version of a stored table, of the same files: second names where the store has them, copies
 * within it elsewhere. From then on neither knows of the other; what one replaces, the other keeps. To be called in
 * the writer lock; on the disk when it returns. Compaction may run at the same time: the files of a version outlive it by far.
 * @param from,to folders of stored tables; `to` must not exist.
 * @throws disk_full, conflict where the version was cleaned up meanwhile.
 */
export async function cloneTable(from: string, to: string): Promise<void> {
  const { files } = storeOf(from)
  const newest = `_versions/${at(await manifests(from), 0)}`
  const [manifest, others]: [FileInfo[], FileInfo[]] = [[], []]
  for await (const file of files.walk(from)) {
    if (file.name === newest) manifest.push(file)
    else if (!LEFT_OUT.includes(topOf(file)) && !basename(file.name).startsWith('.tmp')) others.push(file)
  }
  // A file of an earlier version that is removed meanwhile is nothing to miss.
  const copy = async (file: FileInfo): Promise<void> => {
    const writtenOnce = WRITTEN_ONCE.includes(topOf(file))
    await files.copy(within(from, file.name), within(to, file.name), { bytes: file.bytes, writtenOnce })
  }
  try {
    await eachOf(others, AT_ONCE, copy)
    await eachOf(manifest, AT_ONCE, copy)
  } catch (error) {
    if (isDiskFull(error))
      throw new CodedError('disk_full', `The disk of the index is full: free space and try again. (${messageOf(error)})`, { cause: error })
    throw error
  }
  if ((await manifests(to)).length === 0) throw new CodedError('conflict', 'The version was removed while it was being copied. Try again.')
  await TableSync.ofCopy(to).flush()
}

function topOf({ name }: FileInfo): string {
  return at(name.split('/'), 0)
}

/** Bytes of the files in a folder that have no other name: what removing it would free. */
export async function ownBytes(folder: string): Promise<number> {
  let bytes = 0
  for await (const file of storeOf(folder).files.walk(folder)) if (!file.shared) bytes += file.bytes
  return bytes
}
