import { vectorIndexConfig, writing, type Table } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'

/**
 * Most segments of a vector index. Each index update adds one, and a search reads `nprobes` partitions of each (thirteen take 1.4 times as
 * long as one).
 */
export const MOST_SEGMENTS = 6

/** The name that LanceDB gives to the index of the column. */
const VECTOR_INDEX = 'vector_idx'

/** Returns the number of segments of the vector index; 0 without one. */
export async function vectorSegments(table: Table): Promise<number> {
  return (await table.indexStats(VECTOR_INDEX))?.numIndices ?? 0
}

/**
 * Rebuilds a vector index of more than `most` segments as one, with the same number of partitions. LanceDB does not merge segments, nor
 * files that different segments cover.
 * @returns true if it was rebuilt
 */
export async function mergeSegments(table: Table, most: number): Promise<boolean> {
  if ((await vectorSegments(table)) <= most) return false
  const { partitions } = await readMetadata(table)
  if (partitions === undefined) return false
  await writing(table, () => table.createIndex('vector', { config: vectorIndexConfig(partitions) }))
  return true
}
