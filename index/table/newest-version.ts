import { open } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { osCode } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import { eachOf } from '../store/each-of.ts'
import type { Recorded } from './checksums.ts'
import { manifestFiles, namedFiles, versionOfManifest, VERSIONS, type NamedFile } from './manifest.ts'

/** Trailing bytes of LanceDB's files, by suffix: its own format, and Arrow's file format. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['.lance', 'LANC'],
  ['.idx', 'LANC'],
  ['.arrow', 'ARROW1'],
])
/** Files examined concurrently. */
const AT_ONCE = 16

/** The newest version of a stored table. */
export interface NewestVersion {
  /** Path of its manifest in the table. */
  readonly manifest: string
  /** Name of the manifest of the version before it. */
  readonly older: string | undefined
  /** The files it needs; empty if its manifest is incomplete. */
  readonly named: readonly NamedFile[]
  /** What is missing or incomplete, by path in the table: files of these, its manifest, or that of a later version that was durable. */
  readonly broken: readonly string[]
}

/**
 * Examines the newest version of a stored table: each file that its manifest names, by size and ending. Contents are not read.
 * @param recorded the table's checksums, to find later manifests that are missing
 */
export async function newestVersion(folder: string, recorded: Recorded = new Map()): Promise<NewestVersion> {
  for (;;) {
    const [newest, older] = await manifestFiles(folder)
    if (newest === undefined) return { manifest: VERSIONS, older, named: [], broken: [VERSIONS] }
    const manifest = `${VERSIONS}/${newest}`
    const named = await namedFiles(folder, newest)
    const broken: string[] = named === undefined ? [manifest] : []
    await eachOf(named ?? [], AT_ONCE, async (one) => {
      if (!(await isWhole(folder, one))) broken.push(one.file)
    })
    for (const file of recorded.keys())
      if (dirname(file) === VERSIONS && versionOf(file) > versionOf(newest) && !(await exists(join(folder, file)))) broken.push(file)
    // A compaction may have replaced the version in the meantime, and removed its files.
    if (broken.length > 0 && (await manifestFiles(folder))[0] !== newest) continue
    return { manifest, older, named: named ?? [], broken: broken.sort() }
  }
}

function versionOf(manifest: string): bigint {
  return versionOfManifest(basename(manifest)) ?? 0n
}

/** True if a file has its size and ends as its format requires: after a power loss it can be empty, truncated or full of zeros. */
async function isWhole(folder: string, { file, bytes }: NamedFile): Promise<boolean> {
  const ending = Buffer.from(ENDINGS.get(extname(file)) ?? '')
  try {
    const handle = await open(join(folder, file))
    try {
      const { size } = await handle.stat()
      if (size <= ending.length || (bytes > 0 && size !== bytes)) return false
      const { buffer } = await handle.read(Buffer.alloc(ending.length), 0, ending.length, size - ending.length)
      return buffer.equals(ending)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (osCode(error) === 'ENOENT') return false
    throw error
  }
}
