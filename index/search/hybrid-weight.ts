import { at } from '../../base/at.ts'
import { sentencesIn } from '../../base/sentences.ts'
import { connectLance, SMALL_CACHES, writing, type Table } from '../table/lance.ts'
import { readMetadata, writeDenseWeight, type TableMetadata } from '../table/metadata.ts'
import { PASSAGE_COLUMNS } from '../table/columns.ts'
import { passageAt } from '../table/rows.ts'
import { sampleRows } from '../table/sample.ts'
import { Stages } from '../stages.ts'
import type { Embed, SearchHit } from '../contract.ts'
import { DEFAULT_DENSE_WEIGHT, FUSED_DEPTH } from './hybrid.ts'
import { searchVector, searchWords } from './search.ts'

/** Passages whose sentences serve as questions: the shares of the two searches are then known within about 0.05. */
const SAMPLE = 128
/** Words of a question at most. */
const QUESTION_WORDS = 32
/** The weight is measured again once the table has grown so much. */
const REMEASURE = 1.5

/** A sentence from the middle of a passage: it neither begins like the passage nor carries its title. */
export function middleSentence(text: string): string {
  const all = Array.from(sentencesIn(text), ({ start, end }) => text.slice(start, end).trim()).filter((segment) => segment !== '')
  return at(all.length === 0 ? [text.trim()] : all, all.length >> 1)
    .split(/\s+/)
    .slice(0, QUESTION_WORDS)
    .join(' ')
}

interface MeasureOptions {
  readonly signal?: AbortSignal
  /** Told how far it is. */
  readonly stages?: Stages
}

/**
 * Measures on the corpus itself how well each of the two searches finds a passage by one of its sentences, and stores the
 * dense search's share of what both find (mean reciprocal ranks) as its weight in hybrid searches. A search that finds
 * nothing gets no say; two equal ones get half each. Does nothing where the table has been measured and has not grown since.
 * @returns the weight, 0 to 1
 * @throws what `embed` throws; the signal's reason once aborted
 */
export async function measureDenseWeight(
  table: Table,
  embed: Embed,
  { signal, stages = new Stages() }: MeasureOptions = {},
): Promise<number> {
  const { ann, hybrid } = await readMetadata(table)
  const rows = await table.countRows()
  if (hybrid !== undefined && rows < hybrid.rows * REMEASURE) return hybrid.denseWeight
  if (rows === 0) return DEFAULT_DENSE_WEIGHT
  const aside = await connectLance(table.dir, 0, SMALL_CACHES)
  const denseWeight = await measured(await aside.openTable(table.storedAs), ann, embed, { stages, ...(signal && { signal }) }).finally(() =>
    aside.close(),
  )
  await writing(table, () => writeDenseWeight(table, { denseWeight, rows }))
  return denseWeight
}

async function measured(
  table: Table,
  ann: TableMetadata['ann'],
  embed: Embed,
  { signal, stages }: MeasureOptions & { readonly stages: Stages },
): Promise<number> {
  const onProbes = stages.counted('weighing searches')
  const taken = await sampleRows(table, SAMPLE, PASSAGE_COLUMNS)
  const probes = Array.from({ length: taken.numRows }, (_, row) => passageAt(taken, row))
  const questions = probes.map(({ text }) => middleSentence(text))
  const vectors = await embed(questions, signal)
  let [dense, text] = [0, 0]
  for (const [i, { id }] of probes.entries()) {
    signal?.throwIfAborted()
    onProbes(i, probes.length)
    dense += reciprocalRank(await searchVector(table, ann, at(vectors, i), { k: FUSED_DEPTH }), id)
    text += reciprocalRank(await searchWords(table, at(questions, i), { k: FUSED_DEPTH }), id)
  }
  return dense + text === 0 ? DEFAULT_DENSE_WEIGHT : Math.round((dense / (dense + text)) * 1e4) / 1e4
}

function reciprocalRank(hits: readonly SearchHit[], id: string): number {
  const rank = hits.find((hit) => hit.id === id)?.rank
  return rank === undefined ? 0 : 1 / rank
}
