import { mkdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { storeOf, within } from '../store/store-of.ts'
import { tableFolder } from './alias.ts'
import { CodedError, osCode } from '../../base/errors.ts'
import { lanceText } from '../../base/failures.ts'
import { lostFile } from './lost-file.ts'
import { isWhole } from './whole-file.ts'
import type { Connection, Table } from '../table/lance.ts'

const MANIFEST = /^(\d+)\.manifest$/
/** LanceDB names manifests by 2^64 - 1 - version (20 digits), so that the newest sorts first; in older tables by version. */
const MOST = 2n ** 64n - 1n

function versionOf(digits: string): bigint {
  return digits.length === 20 ? MOST - BigInt(digits) : BigInt(digits)
}

/** Manifest files of a stored table, newest first. */
export async function manifestFiles(folder: string): Promise<string[]> {
  const names = await storeOf(folder).files.list(within(folder, '_versions'))
  const versioned = names.flatMap((name) => {
    const digits = MANIFEST.exec(name)?.[1]
    return digits === undefined ? [] : [{ name, version: versionOf(digits) }]
  })
  return versioned.sort((a, b) => (a.version < b.version ? 1 : -1)).map(({ name }) => name)
}

/**
 * Opens a stored table. After a power loss the newest manifest can be empty, truncated or full of zeros, which LanceDB reads as a table
 * without columns. It is then moved to `_quarantine`, the previous version becomes the newest, and `onWarning` is called. A durable store
 * is left unchanged.
 * @param onWarning called after a repair; without it the table is only read
 * @throws index_missing if it is gone, index_invalid if it cannot be opened, store_unavailable
 */
export async function openStored(
  connection: Connection,
  dir: string,
  storedAs: string,
  onWarning: ((message: string) => void) | undefined,
): Promise<Table> {
  const folder = tableFolder(dir, storedAs)
  for (;;) {
    const damaged = storeOf(dir).durable ? undefined : await damagedNewest(folder, storedAs)
    if (damaged === undefined) return openWhole(connection, dir, storedAs)
    if (onWarning === undefined || !damaged.hasOlder) throw notWhole(damaged, storedAs, folder)
    const aside = await putAside(folder, damaged.manifest)
    onWarning(
      `The newest manifest of ${storedAs} was incomplete, as after a power loss. It was moved to ${aside}; the version before it is live. Jobs that were not finished are checked against it and resume.`,
    )
  }
}

async function openWhole(connection: Connection, dir: string, storedAs: string): Promise<Table> {
  try {
    return await connection.openTable(storedAs)
  } catch (error) {
    const folder = tableFolder(dir, storedAs)
    // Also thrown if a store does not answer; then this reports it.
    if (storeOf(dir).durable && (await manifestFiles(folder)).length === 0) throw gone(storedAs, folder, error)
    throw new CodedError(
      'index_invalid',
      `The table ${storedAs} in ${dir} cannot be opened: ${lanceText(error)}. Check the cause and the folder's permissions; if newer software wrote it, update this software; otherwise restore the folder from a backup.`,
      { field: folder, cause: error },
    )
  }
}

function notWhole({ manifest, hasOlder }: Damaged, storedAs: string, folder: string): CodedError {
  const remedy = hasOlder
    ? 'start the service that writes the index, which rolls back to the previous version'
    : 'there is no previous version; restore the folder from a backup'
  return new CodedError('index_invalid', `The manifest ${manifest} of ${storedAs} is incomplete, as after a power loss: ${remedy}.`, {
    field: folder,
  })
}

/** True if a stored table has a version that could be opened or restored. */
export async function hasVersion(folder: string): Promise<boolean> {
  const names = await manifestFiles(folder)
  if (storeOf(folder).durable) return names.length > 0
  for (const name of names) if (await isWhole(join(folder, '_versions', name))) return true
  return false
}

/**
 * Opens the live table. After a power loss the newest manifest can be complete but refer to files that did not reach the disk; its changes
 * were not acknowledged. It is then quarantined too, and the previous version is live.
 * @throws as openStored; index_invalid if no readable version is left
 */
export async function openServing(...opening: Parameters<typeof openStored>): Promise<Table> {
  const [, dir, storedAs, onWarning] = opening
  const folder = tableFolder(dir, storedAs)
  for (;;) {
    const table = await openStored(...opening)
    const lost = onWarning === undefined || storeOf(dir).durable ? undefined : await lostFile(table, folder)
    if (lost === undefined) return table
    table.close()
    const [newest, older] = await manifestFiles(folder)
    if (newest === undefined || older === undefined)
      throw new CodedError(
        'index_invalid',
        `${lost} is incomplete, and every version of ${storedAs} needs it: restore the folder from a backup.`,
        {
          field: folder,
        },
      )
    const aside = await putAside(folder, newest)
    onWarning?.(
      `The newest version of ${storedAs} named ${lost}, which is incomplete, as after a power loss. Its manifest was moved to ${aside}; the version before it is live. Jobs that were not finished are checked against it and resume.`,
    )
  }
}

/** Quarantines a manifest. @returns its new path */
async function putAside(folder: string, manifest: string): Promise<string> {
  const quarantine = join(folder, '_quarantine')
  await mkdir(quarantine, { recursive: true })
  const aside = join(quarantine, manifest)
  await rename(join(folder, '_versions', manifest), aside)
  return aside
}

interface Damaged {
  readonly manifest: string
  readonly hasOlder: boolean
}

/** The newest manifest if it is damaged. @throws index_missing if the table has no folder */
async function damagedNewest(folder: string, storedAs: string): Promise<Damaged | undefined> {
  try {
    await stat(join(folder, '_versions'))
  } catch (error) {
    if (osCode(error) !== 'ENOENT') throw error
    throw gone(storedAs, folder, error)
  }
  const [manifest, older] = await manifestFiles(folder)
  if (manifest === undefined || (await isWhole(join(folder, '_versions', manifest)))) return undefined
  return { manifest, hasOlder: older !== undefined }
}

function gone(storedAs: string, folder: string, cause: unknown): CodedError {
  return new CodedError('index_missing', `The table ${storedAs} has no folder ${folder} any more: restore it from a backup.`, {
    field: folder,
    cause,
  })
}
