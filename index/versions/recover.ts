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
/** LanceDB names manifests by 2^64 - 1 - version (20 digits), so that the newest sorts first; older tables by version. */
const MOST = 2n ** 64n - 1n

function versionOf(digits: string): bigint {
  return digits.length === 20 ? MOST - BigInt(digits) : BigInt(digits)
}

/** Manifest files of a stored table, newest first. */
export async function manifests(folder: string): Promise<string[]> {
  const names = await storeOf(folder).files.list(within(folder, '_versions'))
  const versioned = names.flatMap((name) => {
    const digits = MANIFEST.exec(name)?.[1]
    return digits === undefined ? [] : [{ name, version: versionOf(digits) }]
  })
  return versioned.sort((a, b) => (a.version < b.version ? 1 : -1)).map(({ name }) => name)
}

/**
 * Opens a stored table. After a power loss the newest manifest can be empty, broken off or full of zeros, which LanceDB takes for a table
 * without columns: it is then put aside (into `_quarantine`), the version before it becomes the newest, and `onWarning` is told.
 * Where a store keeps what it acknowledged, it is left as it is.
 * @param onWarning called with it; without, the table is only read and left unchanged
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
      `The newest manifest of ${storedAs} was not whole, as after a power loss. It was moved to ${aside}; the version before it is live. Jobs that were not finished are checked against it and resume.`,
    )
  }
}

async function openWhole(connection: Connection, dir: string, storedAs: string): Promise<Table> {
  try {
    return await connection.openTable(storedAs)
  } catch (error) {
    const folder = tableFolder(dir, storedAs)
    // As well where a store does not answer: then this says so.
    if (storeOf(dir).durable && (await manifests(folder)).length === 0) throw gone(storedAs, folder, error)
    throw new CodedError(
      'index_invalid',
      `The table ${storedAs} in ${dir} cannot be opened: ${lanceText(error)}. Look at the cause and at the folder's permissions; where newer software wrote it, update this software; else restore the folder from a backup.`,
      { field: folder, cause: error },
    )
  }
}

function notWhole({ manifest, hasOlder }: Damaged, storedAs: string, folder: string): CodedError {
  const remedy = hasOlder
    ? 'start the service that writes the index, which goes back to the version before it'
    : 'there is no version before it; restore the folder from a backup'
  return new CodedError('index_invalid', `The manifest ${manifest} of ${storedAs} is not whole, as after a power loss: ${remedy}.`, {
    field: folder,
  })
}

/** Whether there is a version of a stored table that could be opened, or gone back to. */
export async function hasVersion(folder: string): Promise<boolean> {
  const names = await manifests(folder)
  if (storeOf(folder).durable) return names.length > 0
  for (const name of names) if (await isWhole(join(folder, '_versions', name))) return true
  return false
}

/**
 * Opens the table in service. After a power loss the newest manifest can be whole and name files that did not reach the disk, or not to their end; what
 * it added was not acknowledged yet. It is then put aside as well, and the version before it is live.
 * @throws as openStored; index_invalid where no version is left that can be read
 */
export async function openServing(...opening: Parameters<typeof openStored>): Promise<Table> {
  const [, dir, storedAs, onWarning] = opening
  const folder = tableFolder(dir, storedAs)
  for (;;) {
    const table = await openStored(...opening)
    const lost = onWarning === undefined || storeOf(dir).durable ? undefined : await lostFile(table, folder)
    if (lost === undefined) return table
    table.close()
    const [newest, older] = await manifests(folder)
    if (newest === undefined || older === undefined)
      throw new CodedError(
        'index_invalid',
        `${lost} is not whole, and no version of ${storedAs} does without it: restore the folder from a backup.`,
        {
          field: folder,
        },
      )
    const aside = await putAside(folder, newest)
    onWarning?.(
      `The newest version of ${storedAs} named ${lost}, which is not whole, as after a power loss. Its manifest was moved to ${aside}; the version before it is live. Jobs that were not finished are checked against it and resume.`,
    )
  }
}

/** @returns where the manifest is now */
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

/** The newest manifest if it is not whole. @throws index_missing where the table has no folder */
async function damagedNewest(folder: string, storedAs: string): Promise<Damaged | undefined> {
  try {
    await stat(join(folder, '_versions'))
  } catch (error) {
    if (osCode(error) !== 'ENOENT') throw error
    throw gone(storedAs, folder, error)
  }
  const [manifest, older] = await manifests(folder)
  if (manifest === undefined || (await isWhole(join(folder, '_versions', manifest)))) return undefined
  return { manifest, hasOlder: older !== undefined }
}

function gone(storedAs: string, folder: string, cause: unknown): CodedError {
  return new CodedError('index_missing', `The table ${storedAs} has no folder ${folder} any more: restore it from a backup.`, {
    field: folder,
    cause,
  })
}
