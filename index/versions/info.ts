import type { IndexInfo } from '../contract.ts'
import type { LiveTexts } from './live-table.ts'

/** Full information on a live table. */
export async function infoOf(name: string, { table, storedAs, metadata }: LiveTexts): Promise<IndexInfo> {
  const [version, rows, indices] = await Promise.all([table.version(), table.countRows(), table.listIndices()])
  const indexed = (column: string): string | undefined => indices.find(({ columns }) => columns.includes(column))?.name
  const vectorIndex = indexed('vector')
  const unindexed = vectorIndex === undefined ? undefined : (await table.indexStats(vectorIndex))?.numUnindexedRows
  const { ann } = metadata
  return {
    table: name,
    storedAs,
    version,
    rows,
    dimension: metadata.dimension,
    model: metadata.model,
    schemaVersion: metadata.schemaVersion,
    kind: ann === undefined ? 'exact' : 'ivf_rq',
    nprobes: ann?.nprobes ?? 0,
    refine: ann?.refine ?? 0,
    recall: ann?.recall ?? null,
    questionRecall: ann?.questionRecall ?? null,
    unindexedRows: unindexed ?? rows,
    fullText: indexed('text') !== undefined,
  }
}
