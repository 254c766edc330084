import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { parseJson } from '../../base/json.ts'
import { declared, openParquet, parquetRows } from '../../index/read/formats/parquet.ts'
import type { RawRecord } from './question-set.ts'

/** Rows of a Parquet file, including nested columns; one row group is in memory at a time. */
export async function* parquetRecords(file: string): AsyncGenerator<RawRecord> {
  const parquet = await openParquet(file)
  for await (const [number, row] of parquetRows(parquet)) yield { at: `row ${number}`, value: withNumbers(declared(row, parquet.schema)) }
}

/** Converts 64-bit integers to numbers, or beyond 2^53, as of ids that are hashes, to their digits. */
function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (Array.isArray(value)) return value.map(withNumbers)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withNumbers(inner)]))
}

const isDatasetInfo = Compile(
  Type.Object({
    info: Type.Object({ features: Type.Record(Type.String(), Type.Object({ names: Type.Optional(Type.Array(Type.String())) })) }),
  }),
)

/** Class names of a numbered column, as Hugging Face's `datasets` writes them; undefined if there are none. @throws if it is no Parquet file */
export async function classNames(file: string, column: string): Promise<readonly string[] | undefined> {
  const { metadata } = await openParquet(file)
  const info = parseJson(metadata.key_value_metadata?.find(({ key }) => key === 'huggingface')?.value ?? '')
  return isDatasetInfo.Check(info) ? info.info.features[column]?.names : undefined
}
