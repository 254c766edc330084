import { createReadStream } from 'node:fs'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { Value } from 'typebox/value'
import { breather } from '../../base/breathe.ts'
import { syncPath, writeFileDurably } from '../../base/durable.ts'
import { CodedError, isDiskFull, osCode, messageOf } from '../../base/errors.ts'
import { contentHash, rowFingerprint } from '../hash.ts'
import { readLines } from '../read/lines.ts'
import type { ReadItem } from '../read/contract.ts'
import type { Passage } from '../contract.ts'
import { jobFiles } from './files.ts'
import { PlanSchema, SHARD_ROWS, type Plan } from './contract.ts'
import { LineFile } from './line-file.ts'

/** A passage as planned. */
export interface PlannedRow {
  readonly passage: Passage
  readonly hash: string
  /** On the last passage of a document that was cut: how many it has. */
  readonly parts?: number
}

export interface PlanOptions {
  /** The job's folder. */
  readonly folder: string
  readonly shardRows?: number
  /** Share of rejected lines above which the corpus is refused. */
  readonly maxRejectedShare: number
  readonly signal?: AbortSignal
  readonly onProgress?: (counts: { readonly read: number; readonly rejected: number }) => void
}

const MOD = 2n ** 64n

/**
 * Reads the whole corpus once and lays it out as shard files: checked, distinct, in a format of our own, on the disk.
 * Nothing has been embedded or written to the index when this refuses a corpus; and afterwards the source may change or go away.
 * Rejected lines go to the report file, one JSON object each.
 * @throws corpus_invalid if too many lines are rejected or none is left, or as the reader throws; disk_full.
 */
export async function planCorpus(items: AsyncIterable<ReadItem>, options: PlanOptions): Promise<Plan> {
  const { folder, shardRows = SHARD_ROWS, maxRejectedShare, signal, onProgress } = options
  const files = jobFiles(folder)
  await rm(files.shards, { recursive: true, force: true })
  await rm(files.plan, { force: true })
  await mkdir(files.shards, { recursive: true })
  const [shards, digests]: [number[], string[]] = [[], []]
  let [read, rejected, accepted, digest, lastLine] = [0, 0, 0, 0n, 0]
  const rejects = new LineFile(files.rejects)
  let shard: LineFile | undefined
  let [rows, shardDigest] = [0, 0n]
  const breathe = breather()
  const closeShard = async (): Promise<void> => {
    if (shard === undefined) return
    await shard.close()
    shards.push(rows)
    digests.push(shardDigest.toString(16))
    shard = undefined
    rows = 0
    digest = (digest + shardDigest) % MOD
    shardDigest = 0n
  }
  try {
    for await (const item of items) {
      signal?.throwIfAborted()
      const pause = breathe()
      if (pause !== undefined) await pause
      const { lines = 1 } = item
      // Parts of one document share its line.
      if (item.line !== lastLine) read += lines
      lastLine = item.line
      if ('reason' in item) {
        rejected += lines
        await rejects.write(JSON.stringify(item))
      } else {
        const hash = contentHash(item.passage)
        shard ??= new LineFile(files.shard(shards.length))
        await shard.write(JSON.stringify({ ...item.passage, hash, parts: item.parts }))
        shardDigest = (shardDigest + rowFingerprint(item.passage.id, hash)) % MOD
        accepted++
        if (++rows === shardRows) await closeShard()
      }
      if ((read & 1023) === 0) onProgress?.({ read, rejected })
    }
    await closeShard()
    await rejects.close()
    onProgress?.({ read, rejected })
  } catch (error) {
    await shard?.close().catch(() => undefined)
    await rejects.close().catch(() => undefined)
    // Planning begins anew in any case; meanwhile the space may be what is missing.
    await rm(files.shards, { recursive: true, force: true })
    if (isDiskFull(error))
      throw new CodedError('disk_full', `The disk of the jobs folder is full: free space, then resume. (${messageOf(error)})`, {
        field: folder,
        cause: error,
      })
    throw error
  }
  if (accepted === 0)
    throw new CodedError('corpus_invalid', `All ${read} lines were rejected; the report names the reasons.`, { field: 'rejected' })
  if (rejected > read * maxRejectedShare) {
    throw new CodedError(
      'corpus_invalid',
      `${rejected} of ${read} lines were rejected, more than the allowed share of ${maxRejectedShare}: see the report, mend the file or raise max_rejected_share. Nothing was indexed.`,
      { field: 'max_rejected_share' },
    )
  }
  await syncPath(files.shards)
  const plan: Plan = { shard_rows: shards, shard_digests: digests, read, rejected, accepted, digest: digest.toString(16) }
  await writeFileDurably(files.plan, `${JSON.stringify(plan)}\n`)
  return plan
}

/** The plan, or undefined if planning was never finished. */
export async function readPlan(folder: string): Promise<Plan | undefined> {
  const { plan } = jobFiles(folder)
  try {
    const value: unknown = JSON.parse(await readFile(plan, 'utf8'))
    if (Value.Check(PlanSchema, value)) return value
  } catch (error) {
    if (osCode(error) === 'ENOENT') return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new CodedError('internal', `${plan} is damaged: cancel the job and start it again.`, { field: plan })
}

/** Bytes of the planned copy from shard `from` on. */
export async function plannedBytes(folder: string, { shard_rows }: Plan, from = 0): Promise<number> {
  let bytes = 0
  for (let number = from; number < shard_rows.length; number++) bytes += (await stat(jobFiles(folder).shard(number))).size
  return bytes
}

/** The rows of one shard. @throws internal if the file does not hold what was planned. */
export async function readShard(folder: string, number: number, expected: number): Promise<PlannedRow[]> {
  const path = jobFiles(folder).shard(number)
  const rows: PlannedRow[] = []
  const breathe = breather()
  for await (const line of readLines(createReadStream(path) as AsyncIterable<Buffer>, Infinity)) {
    if (!('bytes' in line)) continue
    const pause = breathe()
    if (pause !== undefined) await pause
    const { hash, parts, ...passage } = JSON.parse(line.bytes.toString('utf8')) as Passage & { hash: string; parts?: number }
    rows.push({ passage, hash, ...(parts === undefined ? {} : { parts }) })
  }
  if (rows.length !== expected)
    throw new CodedError('internal', `${path} holds ${rows.length} of ${expected} planned passages: cancel the job and start it again.`, {
      field: path,
    })
  return rows
}
