import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from '#typebox'
import { Value } from '#typebox/value'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError, osCode } from '../../../base/errors.ts'
import { makeFolder } from '../../../base/make-folder.ts'
import { parseJson } from '../../../base/json.ts'
import type { EmbeddingModel } from '../../contract.ts'
import type { ReadItem } from '../../read/contract.ts'
import type { Plan } from '../plan/contract.ts'
import { planCorpus, readPlan, type PlanOptions } from '../plan/plan.ts'
import { unsoundVectors, VECTOR_PRECISION, type VectorFileOf } from './vector-file.ts'

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

export interface PlanShardDirOptions extends Omit<PlanOptions, 'folder'> {
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
  try {
    return (await unsoundVectors(vectorPath(shardDir.folder, shard), shardOf(shardDir, shard))) === undefined
  } catch (error) {
    if (osCode(error) === 'ENOENT') return false
    throw error
  }
}
