import { DataType } from 'apache-arrow'
import { CodedError } from '../../base/errors.ts'
import type { Table } from './lance.ts'

/** What a table says of itself, in the metadata of its columns: it travels and is restored with the table's versions. */
export interface TableMetadata {
  readonly schemaVersion: number
  /** The version that software must know to use the table: lower, where the steps since are ones that it does not notice. */
  readonly requiredVersion: number
  readonly model: string
  readonly dimension: number
  /** Partitions of the vector index that was built last; it is searched once `ann` is there too. */
  readonly partitions?: number
  /** Absent where every vector is compared. */
  readonly ann?: AnnSettings
  /** Absent where the corpus was not measured. */
  readonly hybrid?: HybridSettings
}

/** Hits that recall is measured with: recall@10, what the literature reports, and about what a question is answered from. */
export const RECALL_AT = 10

/** How the vector index is searched, found by measuring recall when it was built. */
export interface AnnSettings {
  readonly partitions: number
  /** Partitions read per query. */
  readonly nprobes: number
  /** Candidates per hit, for ten hits and more, that are compared again by their stored vectors. */
  readonly refine: number
  /** Rows of the table when the settings were chosen. */
  readonly rows: number
  /** recall@10 against exact search, on a sample, when the settings were chosen: of stored vectors and of questions the lower. */
  readonly recall: number
  /** That of questions alone; absent where it was not measured. */
  readonly questionRecall?: number
}

/** How much the dense search counts in hybrid searches, found by measuring both on the corpus itself. */
export interface HybridSettings {
  /** 0 to 1. */
  readonly denseWeight: number
  /** Rows of the table when it was measured. */
  readonly rows: number
}

/** The version that software must know: what is compared by software of every version. */
export const SCHEMA_KEY = 'cepe:schema_version'
/** The version of the last step taken, where that is a later one. */
const REACHED_KEY = 'cepe:schema_reached'
export const MODEL_KEY = 'cepe:model'
const ANN_KEY = 'cepe:ann'
const PARTITIONS_KEY = 'cepe:partitions'
const HYBRID_KEY = 'cepe:hybrid'

/** A table's metadata. @throws index_invalid for a table that this software did not make. */
export async function readMetadata(table: Table): Promise<TableMetadata> {
  const { fields } = await table.schema()
  const id = fields.find((field) => field.name === 'id')
  const vector = fields.find((field) => field.name === 'vector')
  const requiredVersion = Number(id?.metadata.get(SCHEMA_KEY))
  const reached = Number(id?.metadata.get(REACHED_KEY))
  const model = vector?.metadata.get(MODEL_KEY)
  const type: unknown = vector?.type
  if (!Number.isSafeInteger(requiredVersion) || model === undefined || !DataType.isFixedSizeList(type)) {
    throw new CodedError(
      'index_invalid',
      `The table ${table.storedAs} was not made by this software (no schema version or model is stored with it): use another table name or index folder.`,
      { field: table.storedAs },
    )
  }
  const ann = vector?.metadata.get(ANN_KEY)
  const partitions = Number(vector?.metadata.get(PARTITIONS_KEY))
  const hybrid = parseHybrid(vector?.metadata.get(HYBRID_KEY))
  return {
    schemaVersion: Number.isSafeInteger(reached) ? Math.max(reached, requiredVersion) : requiredVersion,
    requiredVersion,
    model,
    dimension: type.listSize,
    ...(Number.isSafeInteger(partitions) ? { partitions } : {}),
    ...(ann === undefined ? {} : { ann: parseAnn(ann, table.storedAs) }),
    ...(hybrid === undefined ? {} : { hybrid }),
  }
}

/** Damaged settings are as good as none: the table is measured again by the next job. */
function parseHybrid(text: string | undefined): HybridSettings | undefined {
  const [denseWeight = Number.NaN, rows = Number.NaN] = text?.split(' ').map(Number) ?? []
  return denseWeight >= 0 && denseWeight <= 1 && rows >= 0 ? { denseWeight, rows } : undefined
}

function parseAnn(text: string, table: string): AnnSettings {
  const [partitions, nprobes, refine, rows, recall, questionRecall] = text.split(' ').map(Number)
  if (partitions === undefined || nprobes === undefined || refine === undefined || rows === undefined || recall === undefined) {
    throw new CodedError(
      'index_invalid',
      `The search settings stored with the table ${table} are damaged ("${text.slice(0, 80)}"): go back to an earlier version of the table with \`cepe migrate --restore <version>\`.`,
      { field: table },
    )
  }
  return { partitions, nprobes, refine, rows, recall, ...(questionRecall !== undefined && { questionRecall }) }
}

/** @param required the version that software must know from now on. */
export async function writeSchemaVersion(table: Table, version: number, required: number): Promise<void> {
  const metadata = { [SCHEMA_KEY]: String(required), ...(version > required ? { [REACHED_KEY]: String(version) } : {}) }
  await table.updateFieldMetadata([{ path: 'id', metadata }])
}

/** Earlier software reads the first five. */
function annText({ partitions, nprobes, refine, rows, recall, questionRecall }: AnnSettings): string {
  return [partitions, nprobes, refine, rows, recall, questionRecall].filter((value) => value !== undefined).join(' ')
}

/** @param ann undefined to compare every vector from now on. */
export async function writeAnn(table: Table, ann: AnnSettings | undefined): Promise<void> {
  const text = ann === undefined ? null : annText(ann)
  await table.updateFieldMetadata([{ path: 'vector', metadata: { [ANN_KEY]: text } }])
}

export async function writeDenseWeight(table: Table, { denseWeight, rows }: HybridSettings): Promise<void> {
  await table.updateFieldMetadata([{ path: 'vector', metadata: { [HYBRID_KEY]: `${denseWeight} ${rows}` } }])
}

export async function writePartitions(table: Table, partitions: number): Promise<void> {
  await table.updateFieldMetadata([{ path: 'vector', metadata: { [PARTITIONS_KEY]: String(partitions) } }])
}
