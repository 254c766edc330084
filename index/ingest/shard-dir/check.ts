import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { CodedError } from '../../../base/errors.ts'
import { shardOf, vectorPath, vectorsFolder, type ShardDir } from './shard-dir.ts'
import { foreignVectors, unsoundVectors } from './vector-file.ts'

/** Shards whose vectors cannot be committed. */
export interface ShardDirFindings {
  /** Planned shards without vectors. */
  readonly missing: readonly number[]
  /** Vector files that do not match the plan, with the reason. */
  readonly foreign: readonly ForeignFile[]
}

export interface ForeignFile {
  readonly file: string
  readonly why: string
  /** Planned shard of the file's name. */
  readonly shard?: number
}

const VECTOR_FILE = /^\d{6,}\.arrow$/

/**
 * Checks for vectors of every shard.
 * @param whole true to read every vector file and verify its digests; otherwise only its metadata is checked
 */
export async function inspectShardDir(shardDir: ShardDir, { whole }: { readonly whole: boolean }): Promise<ShardDirFindings> {
  const flawOf = whole ? unsoundVectors : foreignVectors
  const files = new Set((await readdir(vectorsFolder(shardDir.folder))).filter((file) => VECTOR_FILE.test(file)))
  const missing: number[] = []
  const foreign: ForeignFile[] = []
  for (const shard of shardDir.plan.shard_rows.keys()) {
    const path = vectorPath(shardDir.folder, shard)
    const file = basename(path)
    if (!files.delete(file)) missing.push(shard)
    else {
      const why = await flawOf(path, shardOf(shardDir, shard))
      if (why !== undefined) foreign.push({ file, why, shard })
    }
  }
  return { missing, foreign: [...foreign, ...[...files].map((file) => ({ file, why: 'is of a shard that the plan does not have' }))] }
}

const NAMED = 10

/** Checks a shard folder before a commit, which reads the vectors itself. @throws index_invalid naming missing shards and foreign files */
export async function checkShardDir(shardDir: ShardDir): Promise<void> {
  const { missing, foreign } = await inspectShardDir(shardDir, { whole: false })
  if (missing.length === 0 && foreign.length === 0) return
  const parts = [
    ...(missing.length > 0 ? [`${missing.length} of ${shardDir.plan.shard_rows.length} shards have no vectors (${ranges(missing)})`] : []),
    ...foreign.slice(0, NAMED).map(({ file, why }) => `${file} ${why}`),
    ...(foreign.length > NAMED ? [`${foreign.length - NAMED} more files are foreign`] : []),
  ]
  throw new CodedError(
    'index_invalid',
    `${shardDir.folder} cannot be committed: ${parts.join('; ')}. Nothing was written. Remove foreign files, and give what is missing to \`cepe embed-worker\` (\`cepe index pending\` lists it).`,
    { field: 'place' },
  )
}

/** Formats the first numbers as ranges: "0 to 3, 7 and 12 more". */
function ranges(numbers: readonly number[]): string {
  const runs: { from: number; to: number }[] = []
  for (const number of numbers) {
    const last = runs.at(-1)
    if (last?.to === number - 1) last.to = number
    else runs.push({ from: number, to: number })
  }
  const shown = runs.slice(0, NAMED).map(({ from, to }) => (from === to ? String(from) : `${from} to ${to}`))
  const rest = runs.slice(NAMED).reduce((sum, { from, to }) => sum + to - from + 1, 0)
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
