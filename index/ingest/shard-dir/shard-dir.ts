import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { copyFile, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeFolder, syncPath, writeFileDurably } from '../../../base/durable.ts'
import { type CodedError, conflict, invalidIndex, notFound, onCode, osCode } from '../../../base/errors.ts'
import { exists, readRegular } from '../../../base/exists.ts'
import { parseJson } from '../../../base/json.ts'
import type { Embed, EmbeddingModel } from '../../contract.ts'
import type { ReadItem } from '../../read/contract.ts'
import { storeOf } from '../../store/store-of.ts'
import { jobFiles, type Plan } from '../plan/contract.ts'
import { planCorpus, type PlanOptions, readPlan, readShard } from '../plan/plan.ts'
import { embedRows } from '../shard.ts'
import { foreignVectors, unsoundVectors, VECTOR_PRECISION, type VectorFile, writeVectorFile } from './vector-file.ts'

/** Copies a shard folder's plan into a job's folder, by hard links if possible: its rows cannot change. An interrupted copy starts over. */
export async function adoptPlan({ folder: place, plan }: ShardDir, folder: string): Promise<Plan> {
  const [from, to] = [jobFiles(place), jobFiles(folder)]
  await rm(to.shards, { recursive: true, force: true })
  await makeFolder(to.shards)
  for (const shard of plan.shard_rows.keys()) {
    const [planned, own] = [from.shard(shard), to.shard(shard)]
    if (!(await storeOf(folder).files.copy(planned, own, { bytes: 0, writtenOnce: true })))
      throw invalidIndex('place', `${planned} is missing: plan the corpus into a new folder.`)
    await syncPath(own)
  }
  if (await exists(from.rejects)) await copyFile(from.rejects, to.rejects)
  await syncPath(to.shards)
  await writeFileDurably(to.plan, `${JSON.stringify(plan)}\n`)
  return plan
}

/**
 * Writes the vector file of a planned shard, unless it exists. Idempotent and safe to run concurrently.
 * @returns number of rows; `present`: the vectors existed and nothing was done
 * @throws not_found for a number outside the plan, index_invalid for a missing or modified shard; errors of the embedder
 */
export async function embedShard(shardDir: ShardDir, shard: number, embed: Embed, signal: AbortSignal) {
  const { folder, plan, dimension } = shardDir
  const vectors = vectorsOf(shardDir, shard)
  if (await hasVectors(vectors)) return { rows: vectors.rows, present: true }
  const planned = await readShard(folder, shard, plan)
  const halves = new Uint16Array(planned.length * dimension)
  await embedRows([...planned.keys()], { planned, halves, dimension }, { embed, signal })
  await writeVectorFile(vectors, planned, halves)
  return { rows: vectors.rows, present: false }
}

/**
 * A folder shared by machines: a planned corpus, laid out like a job's folder, and the vectors of its shards, one file each. `place.json`
 * is written last: its presence means that the plan is complete.
 */
const ShardDirSchema = Type.Object({
  version: Type.Literal(1),
  /** Fingerprint of the corpus and its read options: another corpus is not planned over it. */
  corpus: Type.String(),
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

interface PlanShardDirOptions extends PlanOptions, Pick<ShardDirRecord, 'name' | 'corpus'> {
  readonly model: EmbeddingModel
}

/** Plans a corpus into a shard folder; idempotent. @throws conflict if it holds anything else; errors of planning */
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
  await makeFolder(jobFiles(folder).vectors)
  const record: ShardDirRecord = { version: 1, corpus, name, model: model.id, dimension: model.dimension, precision: VECTOR_PRECISION }
  await writeFileDurably(jobFiles(folder).place, `${JSON.stringify(record)}\n`)
  return openShardDir(folder)
}

/** @throws index_invalid if planning did not complete, or the record is damaged */
export async function openShardDir(folder: string): Promise<ShardDir> {
  const record = await readRecord(folder)
  const plan = record && (await readPlan(folder))
  if (record === undefined || plan === undefined || plan.shard_digests.length !== plan.shard_rows.length)
    throw invalidIndex('place', `${folder} has no complete plan: create it with \`cepe index plan <corpus> --out ${folder}\`.`)
  return { ...record, folder, plan }
}

async function readRecord(folder: string): Promise<ShardDirRecord | undefined> {
  const { place } = jobFiles(folder)
  try {
    const value = parseJson(String(await readRegular(place)))
    if (Value.Check(ShardDirSchema, value)) return value
  } catch (error) {
    return onCode(['ENOENT', 'ENOTDIR'], () => undefined)(error)
  }
  throw invalidIndex('place', `${place} is damaged or was written by newer software: plan into another folder.`)
}

function occupied(folder: string, what: string): CodedError {
  return conflict('--out', `${folder} ${what}: choose another folder.`)
}

/** @throws index_invalid unless the folder was planned for this model: vectors of different models cannot be compared */
export function checkShardDirModel(shardDir: ShardDir, model: EmbeddingModel): void {
  if (shardDir.model === model.id && shardDir.dimension === model.dimension) return
  const message = `${shardDir.folder} was planned for the model ${shardDir.model}, this process embeds with ${model.id}: set CEPE_RETRIEVER_DIR to that model, or plan the corpus again.`
  throw invalidIndex('place', message)
}

/** The vector file of a shard. @throws not_found for a number outside the plan */
export function vectorsOf({ folder, plan, model, dimension }: ShardDir, shard: number): VectorFile {
  const [rows, digest] = [plan.shard_rows[shard], plan.shard_digests[shard]]
  if (rows === undefined || digest === undefined)
    throw notFound('shard', `The plan has no shard ${shard}: its shards are 0 to ${plan.shard_rows.length - 1}.`)
  const path = join(jobFiles(folder).vectors, `${String(shard).padStart(6, '0')}.arrow`)
  return { path, model, dimension, shard, rows, digest }
}

/** Returns true if a shard's vectors exist and are intact. */
export async function hasVectors(vectors: VectorFile): Promise<boolean> {
  return (await exists(vectors.path)) && (await unsoundVectors(vectors)) === undefined
}

const VECTOR_FILE = /^\d{6,}\.arrow$/

/**
 * Checks for vectors of every shard.
 * @param whole true to read every vector file and verify its digests; otherwise only its metadata is checked
 * @returns planned shards without vectors, and files that do not match the plan
 */
export async function inspectShardDir(shardDir: ShardDir, { whole }: { readonly whole: boolean }) {
  const flawOf = whole ? unsoundVectors : foreignVectors
  const files = new Set((await readdir(jobFiles(shardDir.folder).vectors)).filter((file) => VECTOR_FILE.test(file)))
  const missing: number[] = []
  const foreign: { file: string; why: string; shard?: number }[] = []
  for (const shard of shardDir.plan.shard_rows.keys()) {
    const vectors = vectorsOf(shardDir, shard)
    const file = basename(vectors.path)
    if (!files.delete(file)) missing.push(shard)
    else {
      const why = await flawOf(vectors)
      if (why !== undefined) foreign.push({ file, why, shard })
    }
  }
  for (const file of files) foreign.push({ file, why: 'is of a shard that the plan does not have' })
  return { missing, foreign }
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
  const message = `${shardDir.folder} cannot be committed: ${parts.join('; ')}. Nothing was written. Remove foreign files, and give what is missing to \`cepe embed-worker\` (\`cepe index pending\` lists it).`
  throw invalidIndex('place', message)
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
