import { rm, stat } from 'node:fs/promises'
import { Value } from 'typebox/value'
import { at } from '../../../base/at.ts'
import { eventLoopTurn } from '../../../base/event-loop-turn.ts'
import { makeFolder, syncPath, writeFileDurably } from '../../../base/durable.ts'
import { CodedError, invalidCorpus, invalidIndex, reasonOf } from '../../../base/errors.ts'
import { orAbsent, readRegular } from '../../../base/exists.ts'
import { inFolder } from '../../../base/failures.ts'
import { fileBytes } from '../../../base/files.ts'
import { parseJson } from '../../../base/json.ts'
import type { Accepted, ReadItem } from '../../read/contract.ts'
import type { Passage } from '../../contract.ts'
import { contentHash, RowsDigest } from '../../hash.ts'
import { jobFiles, type Plan, PlanSchema, SHARD_ROWS } from './contract.ts'
import { lineFile, shardFiles } from './shard-files.ts'

const READ_BYTES = 1024 * 1024
const NEWLINE = 10

/** A passage as planned, with its content hash. */
export interface PlannedRow extends Pick<Accepted, 'passage' | 'parts' | 'whole'> {
  readonly hash: string
}

export interface PlanOptions {
  readonly folder: string
  readonly shardRows?: number | undefined
  /** Share of rejected lines above which the corpus is refused. */
  readonly maxRejectedShare: number
  /** What the corpus consists of, for messages. */
  readonly unit?: 'lines' | 'files'
  readonly signal?: AbortSignal
  readonly onProgress?: (counts: { readonly read: number; readonly rejected: number }) => void
}

/**
 * Reads the whole corpus once and writes it to shard files: validated, deduplicated and durable. Nothing is embedded or indexed if a corpus
 * is rejected; afterwards the source may change or disappear. Rejected lines and warnings of files are written to the report, one JSON object each.
 * @throws corpus_invalid if too many lines are rejected or none is left, or as the reader throws; disk_full
 * @example
 * ```ts
 * import { planCorpus } from './index/ingest/plan/plan.ts'
 * import { readPassageFile } from './index/read/read.ts'
 *
 * const plan = await planCorpus(readPassageFile('passages.tsv'), { folder: 'plan', maxRejectedShare: 0.01 })
 * console.log(`${plan.accepted} passages in ${plan.shard_rows.length} shards`)
 * ```
 */
export async function planCorpus(items: AsyncIterable<ReadItem>, options: PlanOptions): Promise<Plan> {
  const files = jobFiles(options.folder)
  await rm(files.shards, { recursive: true, force: true })
  for (const file of [files.plan, files.rejects]) await rm(file, { force: true })
  await makeFolder(files.shards)
  const plan = await layOut(items, options)
  const refusal = refusalOf(plan, options)
  if (refusal !== undefined) throw refusal
  await syncPath(files.shards)
  await writeFileDurably(files.plan, `${JSON.stringify(plan)}\n`)
  return plan
}

/** Counts the lines and passages of a corpus. Passages of one document share its line. */
export function corpusCounts() {
  const counts = { read: 0, rejected: 0, accepted: 0 }
  let last: Pick<ReadItem, 'file' | 'line'> = { line: -1 }
  return {
    counts,
    add: (item: ReadItem): void => {
      const { lines = 1 } = item
      if (item.line !== last.line || item.file !== last.file) counts.read += lines
      last = item
      if ('reason' in item) counts.rejected += lines
      else counts.accepted++
    },
  }
}

/** Writes every item to a shard or to the report. On an error, removes what was written. */
async function layOut(items: AsyncIterable<ReadItem>, { folder, shardRows = SHARD_ROWS, signal, onProgress }: PlanOptions): Promise<Plan> {
  const files = jobFiles(folder)
  const shards = shardFiles(files, shardRows)
  const report = lineFile(files.rejects)
  const { counts, add } = corpusCounts()
  const turn = eventLoopTurn()
  const take = async (item: ReadItem): Promise<void> => {
    if ('reason' in item) await report.write(JSON.stringify(item))
    else {
      for (const warning of item.warnings ?? []) await report.write(JSON.stringify({ file: item.file, line: 0, warning }))
      await shards.write(item)
    }
    add(item)
    if ((counts.read & 1023) === 0) onProgress?.({ ...counts })
  }
  try {
    for await (const item of items) {
      signal?.throwIfAborted()
      if (turn.isOver()) await turn.next()
      await take(item)
    }
    const laidOut = await shards.finish()
    await report.close()
    onProgress?.({ ...counts })
    return { ...counts, ...laidOut }
  } catch (error) {
    await shards.abandon()
    await report.close().catch(() => undefined)
    // Planning starts over in any case; until then the space may be what is missing.
    await rm(files.shards, { recursive: true, force: true })
    return inFolder(folder)(error)
  }
}

/** Why a corpus is not taken, by its counts; undefined if it is. */
export function refusalOf(
  { read, rejected, accepted }: Pick<Plan, 'read' | 'rejected' | 'accepted'>,
  { maxRejectedShare, unit = 'lines' }: Pick<PlanOptions, 'maxRejectedShare' | 'unit'>,
): CodedError | undefined {
  const refusal = (field: string, ofLines: string, ofFiles: string) => invalidCorpus(field, unit === 'files' ? ofFiles : ofLines)
  if (accepted === 0)
    return refusal(
      'rejected',
      `No line of ${read} was accepted; the report names the reasons.`,
      read === 0 ? 'There are no files. This job changed nothing.' : `No file of ${read} could be read; the report names the reasons.`,
    )
  if (rejected > read * maxRejectedShare)
    return refusal(
      'max_rejected_share',
      `${rejected} of ${read} lines were rejected, more than the allowed share of ${maxRejectedShare}: see the report, and fix the file or allow more (max_rejected_share or --max-rejected, without strict). This job indexed nothing.`,
      `${rejected} of ${read} files were left out, more than allowed: see the report, and leave these out or allow more (max_rejected_share or --max-rejected, without strict). This job indexed nothing.`,
    )
  return undefined
}

/** Reads the plan; undefined if planning did not complete. */
export async function readPlan(folder: string): Promise<Plan | undefined> {
  const { plan } = jobFiles(folder)
  const content = await orAbsent(readRegular(plan))
  if (content === undefined) return undefined
  const value = parseJson(content.toString())
  if (Value.Check(PlanSchema, value)) return value
  throw new CodedError('internal', `${plan} is damaged: cancel the job and start it again.`, { field: plan })
}

/** Bytes of the planned shards from `from` on. */
export async function plannedBytes(folder: string, { shard_rows }: Plan, from = 0): Promise<number> {
  let bytes = 0
  for (let number = from; number < shard_rows.length; number++) bytes += (await stat(jobFiles(folder).shard(number))).size
  return bytes
}

/** Reads the rows of a shard; content hashes are recomputed from its passages. @throws index_invalid if it does not match the plan */
export async function readShard(folder: string, number: number, { shard_rows, shard_digests }: Plan): Promise<PlannedRow[]> {
  const path = jobFiles(folder).shard(number)
  const refuse = (what: string, cause?: unknown): CodedError =>
    invalidIndex(
      'shard',
      `Shard ${number} of the plan cannot be used: ${path} ${what}. Plan the corpus into a new folder, or cancel its job and start it again.`,
      cause,
    )
  const rows = await parsedRows(path).catch((cause: unknown) => {
    throw refuse(`is missing or damaged (${reasonOf(cause)})`, cause)
  })
  const expected = at(shard_rows, number)
  if (rows.length !== expected) throw refuse(`holds ${rows.length} of ${expected} planned passages`)
  const turn = eventLoopTurn(2)
  const digest = new RowsDigest()
  for (const { passage, hash } of rows) {
    if (turn.isOver()) await turn.next()
    if (contentHash(passage) !== hash) throw refuse(`holds another passage "${passage.id}" than was planned`)
    digest.add(passage.id, hash)
  }
  if (digest.toString() !== at(shard_digests, number)) throw refuse('does not hold the passages that were planned')
  return rows
}

async function parsedRows(path: string): Promise<PlannedRow[]> {
  const rows: PlannedRow[] = []
  // Short slices, so that the commit of the previous shard can proceed in between.
  const turn = eventLoopTurn(2)
  let rest = Buffer.alloc(0)
  for await (const chunk of fileBytes(path, READ_BYTES)) {
    const bytes = Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(NEWLINE) + 1
    // Decoded at once and parsed without checks of each field: content hashes detect damage, and the line reader takes three times as long.
    for (const line of bytes.toString('utf8', 0, end).split('\n').slice(0, -1)) {
      if (turn.isOver()) await turn.next()
      rows.push(plannedRow(JSON.parse(line) as PlannedLine))
    }
    rest = bytes.subarray(end)
  }
  return rows
}

type PlannedLine = Passage & Omit<PlannedRow, 'passage'>

/** Assigns each property: a rest pattern takes longer than parsing. */
function plannedRow({ id, title, text, source, metadata, hash, parts, whole }: PlannedLine): PlannedRow {
  const passage = { id, title, text, ...(source !== undefined && { source }), ...(metadata !== undefined && { metadata }) }
  if (whole !== undefined) return { passage, hash, whole }
  return parts === undefined ? { passage, hash } : { passage, hash, parts }
}
