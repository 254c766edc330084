import { type Static, Type } from '#typebox'
import { Value } from '#typebox/value'
import { copyFile, link, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncPath, writeFileDurably } from '../../../base/durable.ts'
import { CodedError, osCode } from '../../../base/errors.ts'
import { exists } from '../../../base/exists.ts'
import { parseJson } from '../../../base/json.ts'
import { makeFolder } from '../../../base/make-folder.ts'
import type { Embed, EmbeddingModel } from '../../contract.ts'
import type { ReadItem } from '../../read/contract.ts'
import { jobFiles, type Plan } from '../plan/contract.ts'
import { planCorpus, type PlannedRow, type PlanOptions, readPlan, readShard } from '../plan/plan.ts'
import { prepareShard } from '../shard.ts'
import { readVectorFile, unsoundVectors, VECTOR_PRECISION, type VectorFileOf, writeVectorFile } from './vector-file.ts'

/**
 * Copies a shard folder's plan into a job's folder, with hard links where possible, so that the job's rows cannot change. Starts over after
 * an interruption.
 */
export async function adoptPlan(shardDir: ShardDir, folder: string): Promise<Plan> {
  const [from, to] = [jobFiles(shardDir.folder), jobFiles(folder)]
  await rm(to.shards, { recursive: true, force: true })
  await makeFolder(to.shards)
  for (const shard of shardDir.plan.shard_rows.keys()) await linkOrCopy(from.shard(shard), to.shard(shard))
  if (await exists(from.rejects)) await copyFile(from.rejects, to.rejects)
  await syncPath(to.shards)
  await writeFileDurably(to.plan, `${JSON.stringify(shardDir.plan)}\n`)
  return shardDir.plan
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK', 'ENOSYS'].includes(osCode(error) ?? '')) throw error
    await copyFile(from, to)
    await syncPath(to)
  }
}

/** Returns a reader of the precomputed vectors of a shard. @throws index_invalid naming a shard whose vectors are missing or invalid */
export function vectorReader(shardDir: ShardDir): (shard: number, rows: readonly PlannedRow[]) => Promise<Uint16Array> {
  return (shard, rows) => readVectorFile(vectorPath(shardDir.folder, shard), shardOf(shardDir, shard), rows)
}

/**
 * Writes the vector file of a planned shard, unless it exists. Idempotent and safe to run concurrently.
 * @returns number of rows; `present`: the vectors existed and nothing was done
 * @throws not_found for a number outside the plan, index_invalid for a missing or modified shard; errors of the embedder
 */
export async function embedShard(shardDir: ShardDir, shard: number, embed: Embed, signal: AbortSignal) {
  const of = shardOf(shardDir, shard)
  if (await hasVectors(shardDir, shard)) return { rows: of.rows, present: true }
  const rows = await readPlanned(shardDir, shard)
  const { rows: embedded } = await prepareShard(shard, rows, {
    dimension: shardDir.dimension,
    embed,
    present: undefined,
    previous: undefined,
    signal,
    onEmbedded: () => undefined,
  })
  await writeVectorFile(vectorPath(shardDir.folder, shard), of, rows, embedded.halves)
  return { rows: of.rows, present: false }
}

/** Reads the rows of a planned shard. @throws not_found for a number outside the plan; index_invalid for a missing or damaged shard */
export async function readPlanned(shardDir: ShardDir, shard: number): Promise<PlannedRow[]> {
  shardOf(shardDir, shard)
  return readShard(shardDir.folder, shard, shardDir.plan)
}

/**
 * A folder shared by machines: a planned corpus, laid out like a job's folder, and the vectors of its shards, one file each. `place.json`
 * is written last: its presence means that the plan is complete.
 */
const ShardDirSchema = Type.Object({
  version: Type.Literal(1),
  /** Fingerprint of the corpus and its read options: another corpus is not planned over it. */
  corpus: Type.String(),
  /** Display name of the corpus. */
  name: Type.String(),
  model: Type.String({ description: 'Id of the model that its vectors must be of.' }),
  dimension: Type.Integer({ minimum: 1 }),
  precision: Type.Literal(VECTOR_PRECISION),
})
type ShardDirRecord = Static<typeof ShardDirSchema>

export interface ShardDir extends ShardDirRecord {
  readonly folder: string
  readonly plan: Plan
}

const OWN_FILES = /^(plan\.json|rejects\.jsonl|shards|vectors|place\.json|(plan|place)\.json\..*\.tmp)$/

function recordPath(folder: string): string {
  return join(folder, 'place.json')
}

/** Folder of the vector files. */
export function vectorsFolder(folder: string): string {
  return join(folder, 'vectors')
}

/** Path of a shard's vectors. */
export function vectorPath(folder: string, shard: number): string {
  return join(vectorsFolder(folder), `${String(shard).padStart(6, '0')}.arrow`)
}

interface PlanShardDirOptions extends Omit<PlanOptions, 'folder'> {
  readonly folder: string
  readonly model: EmbeddingModel
  readonly name: string
  /** Fingerprint of the corpus and its read options. */
  readonly corpus: string
}

/**
 * Plans a corpus into a shard folder. Idempotent for the same plan.
 * @throws conflict if the folder holds anything else; errors of planning
 */
export async function planShardDir(items: () => AsyncIterable<ReadItem>, options: PlanShardDirOptions): Promise<ShardDir> {
  const { folder, model, name, corpus, ...planning } = options
  await makeFolder(folder).catch((error: unknown) => {
    if (!['EEXIST', 'ENOTDIR'].includes(osCode(error) ?? '')) throw error
    throw occupied(folder, 'is a file, or is inside one')
  })
  const stranger = (await readdir(folder)).find((file) => !OWN_FILES.test(file))
  if (stranger !== undefined) throw occupied(folder, `holds ${stranger}, which is not part of a plan`)
  const found = await readRecord(folder)
  if (found !== undefined) {
    if (found.corpus !== corpus)
      throw occupied(folder, `holds the plan of another corpus, or of the same with other options (${found.name})`)
    if (found.model !== model.id) throw occupied(folder, `was planned for the model ${found.model}, not for ${model.id}`)
    return openShardDir(folder)
  }
  await planCorpus(items(), { folder, ...planning })
  await makeFolder(vectorsFolder(folder))
  const record: ShardDirRecord = { version: 1, corpus, name, model: model.id, dimension: model.dimension, precision: VECTOR_PRECISION }
  await writeFileDurably(recordPath(folder), `${JSON.stringify(record)}\n`)
  return openShardDir(folder)
}

/** @throws index_invalid if planning did not complete, or the record is damaged */
export async function openShardDir(folder: string): Promise<ShardDir> {
  const record = await readRecord(folder)
  const plan = record && (await readPlan(folder))
  if (record === undefined || plan === undefined || plan.shard_digests.length !== plan.shard_rows.length)
    throw new CodedError('index_invalid', `${folder} has no complete plan: create it with \`cepe index plan <corpus> --out ${folder}\`.`, {
      field: 'place',
    })
  return { ...record, folder, plan }
}

async function readRecord(folder: string): Promise<ShardDirRecord | undefined> {
  try {
    const value = parseJson(await readFile(recordPath(folder), 'utf8'))
    if (Value.Check(ShardDirSchema, value)) return value
  } catch (error) {
    if (osCode(error) === 'ENOENT' || osCode(error) === 'ENOTDIR') return undefined
    throw error
  }
  throw new CodedError('index_invalid', `${recordPath(folder)} is damaged or was written by newer software: plan into another folder.`, {
    field: 'place',
  })
}

function occupied(folder: string, what: string): CodedError {
  return new CodedError('conflict', `${folder} ${what}: choose another folder.`, { field: '--out' })
}

/** @throws index_invalid unless the folder was planned for this model: vectors of different models cannot be compared */
export function checkShardDirModel(shardDir: ShardDir, model: EmbeddingModel): void {
  if (shardDir.model === model.id && shardDir.dimension === model.dimension) return
  throw new CodedError(
    'index_invalid',
    `${shardDir.folder} was planned for the model ${shardDir.model}, this process embeds with ${model.id}: set CEPE_RETRIEVER_DIR to that model, or plan the corpus again.`,
    { field: 'place' },
  )
}

/** Returns the expected identity of a shard's vectors. @throws not_found for a number outside the plan */
export function shardOf({ plan, model, dimension }: ShardDir, shard: number): VectorFileOf {
  const [rows, digest] = [plan.shard_rows[shard], plan.shard_digests[shard]]
  if (rows === undefined || digest === undefined)
    throw new CodedError('not_found', `The plan has no shard ${shard}: its shards are 0 to ${plan.shard_rows.length - 1}.`, {
      field: 'shard',
    })
  return { model, dimension, shard, rows, digest }
}

/** Returns true if the shard's vectors exist and match their metadata. */
export async function hasVectors(shardDir: ShardDir, shard: number): Promise<boolean> {
  const file = vectorPath(shardDir.folder, shard)
  return (await exists(file)) && (await unsoundVectors(file, shardOf(shardDir, shard))) === undefined
}
