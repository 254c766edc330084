import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import protobuf from 'protobufjs'
import { type CodedError, conflict, invalidIndex } from '../../base/errors.ts'
import { exists, orAbsent } from '../../base/exists.ts'
import { isVersionGone } from '../../base/failures.ts'
import { eachOf } from '../store/each-of.ts'
import { sizesUnder, storeOf, within } from '../store/store-of.ts'
import type { Table } from './lance.ts'

/** A clean-up removes its versions within moments; many of them take longer in an object store. */
const ATTEMPTS = 50
const PAUSE_MS = 20

/**
 * All versions of a table. LanceDB reads every manifest and fails if another process removes one during the listing: then it is retried.
 * @throws conflict if versions keep disappearing for seconds; index_invalid naming a damaged manifest
 */
export async function versionsOf(table: Table) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await table.listVersions()
    } catch (error) {
      if (!isVersionGone(error)) throw (await damagedVersion(table, error)) ?? error
      if (attempt === ATTEMPTS)
        throw conflict(table.storedAs, `Other processes keep removing versions of ${table.storedAs}: try again later.`, error)
      await sleep(PAUSE_MS)
    }
  }
}

/** Error for a damaged manifest of an earlier version, which the newest one does not need. */
async function damagedVersion({ dir, storedAs }: Table, cause: unknown): Promise<CodedError | undefined> {
  const folder = within(dir, `${storedAs}.lance`)
  for (const name of (await manifestFiles(folder)).slice(1)) {
    if ((await namedFiles(folder, name)) !== undefined) continue
    const file = `${storedAs}.lance/${VERSIONS}/${name}`
    return invalidIndex(file, `${file}, of an earlier version, is damaged: remove it. The newest version does not need it.`, cause)
  }
  return undefined
}
export type Versions = Awaited<ReturnType<typeof versionsOf>>

/** Folder of a stored table's manifests, one per version. */
export const VERSIONS = '_versions'
/** LanceDB names manifests by 2^64 - 1 - version, so that the newest sorts first. */
const MANIFEST = /^\d{20}\.manifest$/

/** The fields read of Lance's table.proto (github.com/lance-format/lance, protos/table.proto). */
const PROTO = protobuf.parse(
  `syntax = "proto3";
  message DataFile { string path = 1; uint64 bytes = 6; }
  message DeletionFile { int32 type = 1; uint64 read_version = 2; uint64 id = 3; }
  message Fragment { uint64 id = 1; repeated DataFile files = 2; DeletionFile deletion = 3; uint64 rows = 4; }
  message Manifest { repeated Fragment fragments = 2; optional uint64 indexes = 6; }
  message Uuid { bytes uuid = 1; }
  message IndexFile { string path = 1; uint64 bytes = 2; }
  message Index { Uuid uuid = 1; repeated IndexFile files = 10; }
  message Indexes { repeated Index indices = 1; }`,
  { keepCase: true },
).root
interface ManifestProto {
  readonly fragments: readonly {
    readonly id: string
    readonly files: readonly { readonly path: string; readonly bytes: string }[]
    readonly deletion: { readonly type: number; readonly read_version: string; readonly id: string } | null
    readonly rows: string
  }[]
  readonly indexes?: string
}
interface IndexesProto {
  readonly indices: readonly {
    readonly uuid: { readonly uuid: Buffer }
    readonly files: readonly { readonly path: string; readonly bytes: string }[]
  }[]
}

/** Bytes of the footer: position of the manifest, version of the format, magic. */
const FOOTER = 16
const MAGIC = 'LANC'

export function isManifest(name: string): boolean {
  return MANIFEST.test(name)
}

/** Names of the manifests of a stored table, newest first. */
export async function manifestFiles(folder: string): Promise<string[]> {
  return (await storeOf(folder).files.list(within(folder, VERSIONS))).filter(isManifest)
}

/**
 * Reads which data, deletion and index files a version needs.
 * @param manifest name of its file
 * @param sums its recorded checksums
 * @returns their paths in the table, with slashes, and bytes (0 if the manifest does not name them), of data the rows too (0 if some are
 * deleted); undefined if the manifest is missing, incomplete or changed: after a power loss it can be empty, truncated or full of zeros
 */
export async function namedFiles(folder: string, manifest: string, sums?: ReadonlySet<string>) {
  const bytes = Buffer.from((await storeOf(folder).files.read(within(folder, VERSIONS, manifest), 'latin1')) ?? '', 'latin1')
  if (bytes.length < FOOTER || bytes.toString('latin1', bytes.length - MAGIC.length) !== MAGIC) return undefined
  if (sums?.has(createHash('sha256').update(bytes).digest('hex')) === false) return undefined
  try {
    const { fragments, indexes } = messageAt<ManifestProto>('Manifest', bytes, Number(bytes.readBigUInt64LE(bytes.length - FOOTER)))
    const { indices } = indexes === undefined ? { indices: [] } : messageAt<IndexesProto>('Indexes', bytes, Number(indexes))
    const data = fragments.flatMap(({ files, rows, deletion }) =>
      files.map((file) => ({ file: `data/${file.path}`, bytes: Number(file.bytes), rows: deletion === null ? Number(rows) : 0 })),
    )
    const deletions = fragments.flatMap(({ id, deletion }) => {
      if (deletion === null) return []
      const ending = deletion.type === 1 ? 'bin' : 'arrow'
      return [{ file: `_deletions/${id}-${deletion.read_version}-${deletion.id}.${ending}`, bytes: 0, rows: 0 }]
    })
    const ofIndexes = indices.flatMap(({ uuid: { uuid }, files }) => {
      const dashed = uuid.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
      return files.map((file) => ({ file: `_indices/${dashed}/${file.path}`, bytes: Number(file.bytes), rows: Infinity }))
    })
    return [...data, ...deletions, ...ofIndexes]
  } catch {
    return undefined
  }
}

/** Decodes the message at a position, after its length. */
function messageAt<T>(name: string, bytes: Buffer, position: number): T {
  const type = PROTO.lookupType(name)
  const from = position + 4
  const message = type.decode(bytes.subarray(from, from + bytes.readUInt32LE(position)))
  return type.toObject(message, { longs: String, defaults: true, arrays: true }) as T
}

/** Trailing bytes of LanceDB's files, by suffix: its own format, and Arrow's file format. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['.lance', 'LANC'],
  ['.idx', 'LANC'],
  ['.arrow', 'ARROW1'],
])
/** Files examined concurrently. */
const AT_ONCE = 16

/**
 * Examines the newest version of a stored table: each file that its manifest names, by size and ending. Contents are not read.
 * @param recorded the table's checksums, to find manifests that have changed or are missing
 * @returns `manifest`: path of its manifest in the table; `older`: name of the manifest of the version before it; `named`: the files it needs,
 * empty if its manifest is incomplete; `broken`: paths of what is missing or incomplete: files of these, its manifest, or that of a later
 * version that was durable
 */
export async function newestVersion(folder: string, recorded: ReadonlyMap<string, ReadonlySet<string>> = new Map()) {
  for (;;) {
    const [newest, older] = await manifestFiles(folder)
    if (newest === undefined) return { manifest: VERSIONS, older, named: [], broken: [VERSIONS] }
    const manifest = `${VERSIONS}/${newest}`
    const found = await namedFiles(folder, newest, recorded.get(manifest))
    const named = found ?? []
    const broken = found === undefined ? [manifest] : []
    // Where a write is complete or absent, one listing shows what is missing.
    const sizes = storeOf(folder).durable ? await sizesUnder(folder) : undefined
    await eachOf(named, AT_ONCE, async ({ file, bytes }) => {
      const size = sizes?.get(file) ?? 0
      if (!(sizes ? size > 0 && [0, size].includes(bytes) : await isWhole(folder, file, bytes))) broken.push(file)
    })
    for (const file of laterThan(newest, recorded)) if (!(sizes?.has(file) ?? (await exists(join(folder, file))))) broken.push(file)
    // A compaction may have replaced the version in the meantime, and removed its files.
    if (broken.length > 0 && (await manifestFiles(folder))[0] !== newest) continue
    return { manifest, older, named, broken: broken.sort() }
  }
}

/** Paths of the recorded manifests of versions later than that of a manifest. */
function laterThan(manifest: string, recorded: ReadonlyMap<string, unknown>): string[] {
  return [...recorded.keys()].filter((file) => dirname(file) === VERSIONS && basename(file) < manifest)
}

/** True if the manifest of a version that was durable, later than the newest one, is missing. */
export async function lacksVersion(folder: string, recorded: ReadonlyMap<string, unknown>): Promise<boolean> {
  const [newest = ''] = await manifestFiles(folder)
  return laterThan(newest, recorded).length > 0
}

/** True if a file has its size and ends as its format requires: after a power loss it can be empty, truncated or full of zeros. */
async function isWhole(folder: string, file: string, bytes: number): Promise<boolean> {
  const ending = Buffer.from(ENDINGS.get(extname(file)) ?? '')
  await using handle = await orAbsent(open(join(folder, file)))
  if (handle === undefined) return false
  const { size } = await handle.stat()
  if (size <= ending.length || (bytes > 0 && size !== bytes)) return false
  const { buffer } = await handle.read(Buffer.alloc(ending.length), 0, ending.length, size - ending.length)
  return buffer.equals(ending)
}
