import { createReadStream } from 'node:fs'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { Value } from 'typebox/value'
import { at } from '../../../base/at.ts'
import { eventLoopYielder } from '../../../base/yield-to-event-loop.ts'
import { syncPath, writeFileDurably } from '../../../base/durable.ts'
import { CodedError, osCode, messageOf } from '../../../base/errors.ts'
import { isDiskFull } from '../../../base/failures.ts'
import type { ReadItem, WholeFile } from '../../read/contract.ts'
import type { Passage } from '../../contract.ts'
import { contentHash, sumFingerprints } from '../../hash.ts'
import { jobFiles } from './job-files.ts'
import { PlanSchema, SHARD_ROWS, type Plan } from './contract.ts'
import { LineFile } from './line-file.ts'
import { ShardFiles } from './shard-files.ts'

const READ_BYTES = 1024 * 1024
const NEWLINE = 10

/** A passage as planned. */
export interface PlannedRow {
  readonly passage: Passage
  readonly hash: string
  /** On the last passage of a document that was cut: how many it has. */
  readonly parts?: number
  /** On the last passage of a file of a folder. */
  readonly whole?: WholeFile
}

export interface PlanOptions {
  /** The job's folder. */
  readonly folder: string
  readonly shardRows?: number
  /** Share of rejected lines above which the corpus is refused. */
  readonly maxRejectedShare: number
  /** What the corpus is made of, as messages say it. */
  readonly unit?: 'lines' | 'files'
  readonly signal?: AbortSignal
  readonly onProgress?: (counts: { readonly read: number; readonly rejected: number }) => void
}

/**
 * Reads the whole corpus once and lays it out as shard files: checked, distinct, in a format of our own, on the disk.
 * Nothing has been embedded or written to the index when this refuses a corpus; and afterwards the source may change or go away.
 * Rejected lines go to the report file, one JSON object each.
 * @throws corpus_invalid if too many lines are rejected or none is left, or as the reader throws; disk_full.
 */
export async function planCorpus(items: AsyncIterable<ReadItem>, options: PlanOptions): Promise<Plan> {
  const { folder, shardRows = SHARD_ROWS } = options
  const files = jobFiles(folder)
  await rm(files.shards, { recursive: true, force: true })
  await rm(files.plan, { force: true })
  await mkdir(files.shards, { recursive: true })
  const shards = new ShardFiles(files, shardRows)
  const counts = await layOut(items, shards, options)
  checkCounts(counts, options)
  await syncPath(files.shards)
  const plan: Plan = { shard_rows: shards.rows, shard_digests: shards.digests, ...counts, digest: shards.digest }
  await writeFileDurably(files.plan, `${JSON.stringify(plan)}\n`)
  return plan
}

type Counts = Pick<Plan, 'read' | 'rejected' | 'accepted'>

/** Writes every item to a shard or to the report. What was written goes away where not all of it can be. */
async function layOut(items: AsyncIterable<ReadItem>, shards: ShardFiles, { folder, signal, onProgress }: PlanOptions): Promise<Counts> {
  const files = jobFiles(folder)
  const rejects = new LineFile(files.rejects)
  const counts = { read: 0, rejected: 0, accepted: 0 }
  const yieldToEventLoop = eventLoopYielder()
  let last: Pick<ReadItem, 'file' | 'line'> = { line: -1 }
  const take = async (item: ReadItem): Promise<void> => {
    const { lines = 1 } = item
    // Parts of one document share its line.
    if (item.line !== last.line || item.file !== last.file) counts.read += lines
    last = item
    if ('reason' in item) {
      counts.rejected += lines
      await rejects.write(JSON.stringify(item))
    } else {
      await shards.write(item)
      counts.accepted++
    }
    if ((counts.read & 1023) === 0) onProgress?.({ ...counts })
  }
  try {
    for await (const item of items) {
      signal?.throwIfAborted()
      const pause = yieldToEventLoop()
      if (pause !== undefined) await pause
      await take(item)
    }
    await shards.close()
    await rejects.close()
    onProgress?.({ ...counts })
    return counts
  } catch (error) {
    await shards.abandon()
    await rejects.close().catch(() => undefined)
    // Planning begins anew in any case; meanwhile the space may be what is missing.
    await rm(files.shards, { recursive: true, force: true })
    if (!isDiskFull(error)) throw error
    const message = `The disk of the jobs folder is full: free space, then resume. (${messageOf(error)})`
    throw new CodedError('disk_full', message, { field: folder, cause: error })
  }
}

/** @throws corpus_invalid */
function checkCounts({ read, rejected, accepted }: Counts, { maxRejectedShare, unit = 'lines' }: PlanOptions): void {
  if (accepted === 0)
    throw new CodedError(
      'corpus_invalid',
      unit === 'files'
        ? `None of ${read} files could be read; the report names the reasons.`
        : `All ${read} lines were rejected; the report names the reasons.`,
      { field: 'rejected' },
    )
  if (unit === 'files' && rejected > read * maxRejectedShare)
    throw new CodedError(
      'corpus_invalid',
      `${rejected} of ${read} files were left out, more than is allowed (strict, max_rejected_share): see the report. Nothing was indexed.`,
      { field: 'max_rejected_share' },
    )
  if (rejected > read * maxRejectedShare) {
    throw new CodedError(
      'corpus_invalid',
      `${rejected} of ${read} lines were rejected, more than the allowed share of ${maxRejectedShare}: see the report, mend the file or raise max_rejected_share. Nothing was indexed.`,
      { field: 'max_rejected_share' },
    )
  }
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

/** A shard as its plan has it. */
export type ShardOf = Pick<Plan, 'shard_rows' | 'shard_digests'>

/**
 * The rows of one shard. Content hashes are worked out anew, from the passages as they are in the file.
 * @throws index_invalid if the file does not hold what was planned.
 */
export async function readShard(folder: string, number: number, { shard_rows, shard_digests }: ShardOf): Promise<PlannedRow[]> {
  const path = jobFiles(folder).shard(number)
  const refuse = (what: string, cause?: unknown): CodedError =>
    new CodedError(
      'index_invalid',
      `Shard ${number} of the plan cannot be used: ${path} ${what}. Plan the corpus into a new folder, or cancel its job and start it again.`,
      { field: 'shard', cause },
    )
  const rows = await parsedRows(path).catch((cause: unknown) => {
    throw refuse(`is missing or damaged (${messageOf(cause)})`, cause)
  })
  const expected = at(shard_rows, number)
  if (rows.length !== expected) throw refuse(`holds ${rows.length} of ${expected} planned passages`)
  const yieldToEventLoop = eventLoopYielder(2)
  const hashed: { id: string; hash: string }[] = []
  for (const { passage, hash } of rows) {
    const pause = yieldToEventLoop()
    if (pause !== undefined) await pause
    if (contentHash(passage) !== hash) throw refuse(`holds another passage "${passage.id}" than was planned`)
    hashed.push({ id: passage.id, hash })
  }
  // Plans of earlier software have no digests.
  const digest = shard_digests?.[number]
  if (digest !== undefined && sumFingerprints(hashed) !== digest) throw refuse('does not hold the passages that were planned')
  return rows
}

async function parsedRows(path: string): Promise<PlannedRow[]> {
  const rows: PlannedRow[] = []
  // Short slices: the commit of the shard before takes its steps in between.
  const yieldToEventLoop = eventLoopYielder(2)
  let rest: Uint8Array[] = []
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      // Decoded at once and parsed without checks of each field: content hashes tell damage, and reading lines of others takes three times as long.
      const lines = Buffer.concat([...rest, chunk.subarray(0, end)])
        .toString()
        .split('\n')
      lines.pop()
      for (const line of lines) {
        const pause = yieldToEventLoop()
        if (pause !== undefined) await pause
        rows.push(plannedRow(JSON.parse(line) as PlannedLine))
      }
      rest = []
    }
    rest.push(chunk.subarray(end))
  }
  return rows
}

type PlannedLine = Passage & Omit<PlannedRow, 'passage'>

/** Property by property: a rest pattern takes longer than parsing does. */
function plannedRow({ id, title, text, source, metadata, hash, parts, whole }: PlannedLine): PlannedRow {
  const passage = { id, title, text, ...(source !== undefined && { source }), ...(metadata !== undefined && { metadata }) }
  if (whole !== undefined) return { passage, hash, whole }
  return parts === undefined ? { passage, hash } : { passage, hash, parts }
}
