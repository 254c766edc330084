import { at } from '../../base/at.ts'
import { sentencesIn } from '../../base/sentences.ts'
import { connectLance, SMALL_CACHES, writing, type Table } from '../table/lance.ts'
import { readMetadata, writeDenseWeight, type TableMetadata } from '../table/metadata.ts'
import { PASSAGE_COLUMNS, passagesIn } from '../table/rows.ts'
import { sampleRows } from '../table/sample.ts'
import type { Stages } from '../stages.ts'
import type { Embed, SearchHit } from '../contract.ts'
import { DEFAULT_DENSE_WEIGHT, FUSED_DEPTH } from './hybrid.ts'
import { searchVector, searchWords } from './search.ts'

/** Passages whose sentences serve as questions: the weight is then accurate within about 0.05. */
const SAMPLE = 128
/** Most words of a question. */
const QUESTION_WORDS = 32
/** Growth of the table after which the weight is measured again. */
const REMEASURE = 1.5

/** A sentence from the middle of a passage: it neither begins like the passage nor contains its title. */
export function middleSentence(text: string): string {
  const all = Array.from(sentencesIn(text), ({ start, end }) => text.slice(start, end).trim()).filter((segment) => segment !== '')
  return at(all.length === 0 ? [text.trim()] : all, all.length >> 1)
    .split(/\s+/)
    .slice(0, QUESTION_WORDS)
    .join(' ')
}

interface MeasureOptions {
  readonly signal: AbortSignal
  readonly stages: Stages
}

/**
 * Measures on the corpus how well each search finds a passage by one of its sentences, and stores the dense search's share (of mean
 * reciprocal ranks) as its weight in hybrid searches. A search that finds nothing gets weight 0; two equal ones get 0.5 each. Does nothing
 * if the table was measured and has not grown since.
 * @returns the weight, 0 to 1
 * @throws errors of `embed`; the signal's reason once aborted
 */
export async function measureDenseWeight(table: Table, embed: Embed, measuring: MeasureOptions): Promise<number> {
  const { ann, hybrid } = await readMetadata(table)
  const rows = await table.countRows()
  if (hybrid !== undefined && rows < hybrid.rows * REMEASURE) return hybrid.denseWeight
  if (rows === 0) return DEFAULT_DENSE_WEIGHT
  using aside = await connectLance(table.dir, 0, SMALL_CACHES)
  const denseWeight = await measured(await aside.openTable(table.storedAs), ann, embed, measuring)
  await writing(table, () => writeDenseWeight(table, { denseWeight, rows }))
  return denseWeight
}

async function measured(table: Table, ann: TableMetadata['ann'], embed: Embed, { signal, stages }: MeasureOptions): Promise<number> {
  const onProbes = stages.counted('weighing searches')
  const probes = passagesIn(await sampleRows(table, SAMPLE, PASSAGE_COLUMNS))
  const questions = probes.map(({ text }) => middleSentence(text))
  const vectors = await embed(questions, signal)
  let [dense, text] = [0, 0]
  for (const [i, { id }] of probes.entries()) {
    signal.throwIfAborted()
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
