import { invalidIndex } from '../../base/errors.ts'
import { arrow } from '../../migrations/arrow.ts'
import type { Table } from './lance.ts'

/** Hits for measuring recall: recall@10, as in the literature, and about what a question is answered from. */
export const RECALL_AT = 10

/** Search settings of the vector index, chosen by measuring recall when it was built. */
export interface AnnSettings {
  readonly partitions: number
  /** Partitions read per query. */
  readonly nprobes: number
  /** Candidates per hit, for ten hits and more, to refine with stored vectors. */
  readonly refine: number
  /** Rows of the table when the settings were chosen. */
  readonly rows: number
  /** recall@10 against exact search on a sample. */
  readonly recall: number
  /** The same if questions were the queries; absent if stored vectors were. */
  readonly questionRecall?: number | undefined
}

/** Required schema version, compared by software of every version. */
export const SCHEMA_KEY = 'cepe:schema_version'
/** Version of the last migration, if later. */
const REACHED_KEY = 'cepe:schema_reached'
export const MODEL_KEY = 'cepe:model'
/** Id of a later build of the model, with equal vectors. The first id stays for software that has the earlier build. */
const ADOPTED_KEY = 'cepe:model_adopted'
const ANN_KEY = 'cepe:ann'
const PARTITIONS_KEY = 'cepe:partitions'
const HYBRID_KEY = 'cepe:hybrid'

/** Reads a table's settings from its columns' metadata, versioned with the table. @throws index_invalid for a table of other software */
export async function readMetadata(table: Table) {
  const { fields } = await table.schema()
  const [id, vector] = ['id', 'vector'].map((name) => fields.find((field) => field.name === name))
  const stored = new Map([...(id?.metadata ?? []), ...(vector?.metadata ?? [])])
  const requiredVersion = Number(stored.get(SCHEMA_KEY))
  const reached = Number(stored.get(REACHED_KEY))
  const model = stored.get(ADOPTED_KEY) ?? stored.get(MODEL_KEY)
  const type: unknown = vector?.type
  if (!Number.isSafeInteger(requiredVersion) || model === undefined || !arrow.DataType.isFixedSizeList(type))
    throw invalidIndex(
      table.storedAs,
      `The table ${table.storedAs} was not made by this software (no schema version or model is stored with it): use another table name or index folder.`,
    )
  const ann = stored.get(ANN_KEY)
  const partitions = Number(stored.get(PARTITIONS_KEY))
  return {
    schemaVersion: Number.isSafeInteger(reached) ? Math.max(reached, requiredVersion) : requiredVersion,
    /** Schema version that software must support to use the table: lower if later migrations are backward compatible. */
    requiredVersion,
    model,
    dimension: type.listSize,
    /** Partitions of the last vector index; it is used once `ann` is set too. */
    partitions: Number.isSafeInteger(partitions) ? partitions : undefined,
    /** Undefined if every vector is compared. */
    ann: ann === undefined ? undefined : parseAnn(ann, table.storedAs),
    /** Undefined if the corpus was not measured. */
    hybrid: parseHybrid(stored.get(HYBRID_KEY)),
  }
}
export type TableMetadata = Awaited<ReturnType<typeof readMetadata>>

/**
 * The weight of dense search in hybrid searches, 0 to 1, and the rows of the table when it was measured. Damaged settings are ignored: the
 * next job measures the table again.
 */
function parseHybrid(text: string | undefined) {
  const [denseWeight = Number.NaN, rows = Number.NaN] = text?.split(' ').map(Number) ?? []
  return denseWeight >= 0 && denseWeight <= 1 && rows >= 0 ? { denseWeight, rows } : undefined
}

function parseAnn(text: string, table: string): AnnSettings {
  const [partitions, nprobes, refine, rows, recall, questionRecall] = text.split(' ').map(Number)
  if (partitions === undefined || nprobes === undefined || refine === undefined || rows === undefined || recall === undefined)
    throw invalidIndex(
      table,
      `The search settings stored with the table ${table} are damaged ("${text.slice(0, 80)}"): go back to an earlier version of the table with \`cepe migrate --restore <version> --collection ${table.replace(/\..*/, '')}\`.`,
    )
  return { partitions, nprobes, refine, rows, recall, questionRecall }
}

/** @param required version that software must support from now on */
export async function writeSchemaVersion(table: Table, version: number, required: number): Promise<void> {
  const metadata = { [SCHEMA_KEY]: String(required), ...(version > required ? { [REACHED_KEY]: String(version) } : {}) }
  await table.updateFieldMetadata([{ path: 'id', metadata }])
}

/** @param ann undefined to compare every vector from now on */
export async function writeAnn(table: Table, ann: AnnSettings | undefined): Promise<void> {
  // Earlier software reads the first five values.
  const values = ann && [ann.partitions, ann.nprobes, ann.refine, ann.rows, ann.recall, ann.questionRecall]
  const text = values?.filter((value) => value !== undefined).join(' ') ?? null
  await table.updateFieldMetadata([{ path: 'vector', metadata: { [ANN_KEY]: text } }])
}

/** Records that the table's vectors are those of another build of its model. */
export async function writeModel(table: Table, id: string): Promise<void> {
  await table.updateFieldMetadata([{ path: 'vector', metadata: { [ADOPTED_KEY]: id } }])
}

export async function writeDenseWeight(table: Table, { denseWeight, rows }: NonNullable<TableMetadata['hybrid']>): Promise<void> {
  await table.updateFieldMetadata([{ path: 'vector', metadata: { [HYBRID_KEY]: `${denseWeight} ${rows}` } }])
}

export async function writePartitions(table: Table, partitions: number): Promise<void> {
  await table.updateFieldMetadata([{ path: 'vector', metadata: { [PARTITIONS_KEY]: String(partitions) } }])
}
