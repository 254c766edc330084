import { performance } from 'node:perf_hooks'
import { at, sum, wilson } from '../../base/at.ts'
import { f16ToF32 } from '../../base/binary16.ts'
import type { Embed } from '../contract.ts'
import { halvesOf, PASSAGE_COLUMNS, passagesIn } from '../table/rows.ts'
import type { Table } from '../table/lance.ts'
import { RECALL_AT, type AnnSettings } from '../table/metadata.ts'
import { sampleRows } from '../table/sample.ts'
import { middleSentence } from './hybrid-weight.ts'
import { candidatesOf, findCandidates, searchExactly, searchVector } from './search.ts'

/** A query with its exact results. */
export interface Probe {
  /** Passage whose stored vector is the query: any search finds it, so it does not count. Absent for a question. */
  readonly id?: string
  readonly vector: Float32Array
  /** Number of exact results that count: at most ten. */
  readonly wanted: number
  /** Score of the last of them. */
  readonly least: number
  /** Rows of these results, and of others with equal scores. */
  readonly rows: ReadonlySet<string>
  /** True if more rows may have equal scores than were read. */
  readonly crowded: boolean
}

/** Exact results per probe: the ten that count, and others that may score equally. */
const NEIGHBOURS = 64

/**
 * Samples passages evenly over the table and finds the exact neighbours of a sentence of each as a question, or of its stored vector, in
 * one scan of all vectors, the expensive part of measuring recall. Users ask questions: stored vectors are central in their clusters, so
 * that an index may do well on them alone, and near-equal passages crowd around them, so that it may also do worse.
 * @param embedQuestions without it, stored vectors are the queries
 * @throws errors of `embedQuestions`
 */
export async function takeProbes(table: Table, count: number, embedQuestions?: Embed, signal?: AbortSignal): Promise<Probe[]> {
  const stored = await sampleRows(table, count, [...PASSAGE_COLUMNS, 'vector'])
  const passages = passagesIn(stored)
  const sentences = passages.map(({ text }) => middleSentence(text))
  const asked = await embedQuestions?.(sentences, signal)
  const halves = halvesOf(stored)
  const queries = asked?.map((vector) => ({ vector })) ?? passages.map(({ id }, row) => ({ id, vector: f16ToF32(halves(row)) }))
  return queries.length === 0 ? [] : withNeighbours(table, queries)
}

async function withNeighbours(table: Table, queries: readonly Pick<Probe, 'id' | 'vector'>[]): Promise<Probe[]> {
  const vectors = queries.map(({ vector }) => vector)
  const exact = await searchExactly(table, vectors, NEIGHBOURS)
  return queries.map((query, i) => {
    const near = at(exact, i)
    const scores = othersScores(near, query.id)
    const least = scores.at(-1) ?? 0
    const good = near.filter((hit) => hit.id !== query.id && hit.score >= tied(least))
    return {
      ...query,
      wanted: scores.length,
      least,
      rows: new Set(good.map(({ row }) => row)),
      crowded: near.length === NEIGHBOURS && (near.at(-1)?.score ?? 0) >= tied(least),
    }
  })
}

/** Lowest score that counts as equal to this one. */
function tied(score: number): number {
  return score - 1e-5 * Math.max(1, Math.abs(score))
}

/**
 * recall@10 for each number of refined candidates. Refining finds a wanted passage if it is among the candidates, so one search by the
 * index alone gives the recall for all of them.
 * @param refinements ascending
 * @throws the signal's reason once aborted
 */
export async function reachOf(
  table: Table,
  { refinements, ...settings }: Omit<AnnSettings, 'refine'> & { readonly refinements: readonly number[] },
  probes: readonly Probe[],
  signal?: AbortSignal,
) {
  const found = refinements.map((): number[] => [])
  for (const probe of probes) {
    signal?.throwIfAborted()
    const counts = refinements.map((refine) => candidatesOf({ refine }, hitsOf(probe)))
    const candidates = probe.crowded ? [] : await findCandidates(table, settings.nprobes, probe.vector, counts.at(-1) ?? 0)
    const ranks = candidates.flatMap((row, rank) => (probe.rows.has(row) ? [rank] : []))
    for (const [i, refine] of refinements.entries()) {
      const count = probe.crowded
        ? await countFound(table, { ...settings, refine }, probe)
        : ranks.filter((rank) => rank < at(counts, i)).length
      at(found, i).push(Math.min(probe.wanted, count))
    }
  }
  const wanted = probes.map((probe) => probe.wanted)
  return found.map((counts) => shareOf(counts, wanted))
}

/** Hits to search for: those of ten, and the passage that a stored vector belongs to. */
function hitsOf({ id }: Probe): number {
  return id === undefined ? RECALL_AT : RECALL_AT + 1
}

/** Counts results that score at least as well as the expected ones. */
async function countFound(table: Table, settings: AnnSettings, probe: Probe): Promise<number> {
  const hits = await searchVector(table, settings, probe.vector, { k: hitsOf(probe) })
  return othersScores(hits, probe.id).filter((score) => score >= tied(probe.least)).length
}

/**
 * Search times of settings in milliseconds, the lower quartile of each: other load only adds to them. They search in turn, so that such
 * load affects all alike.
 * @throws the signal's reason once aborted
 */
export async function latenciesOf(
  table: Table,
  settings: readonly AnnSettings[],
  probes: readonly Probe[],
  signal?: AbortSignal,
): Promise<number[]> {
  const times = settings.map((): number[] => [])
  for (const { vector } of probes) {
    for (const [i, one] of settings.entries()) {
      signal?.throwIfAborted()
      const started = performance.now()
      await searchVector(table, one, vector, { k: RECALL_AT })
      at(times, i).push(performance.now() - started)
    }
  }
  return times.map((each) => each.sort((a, b) => a - b).at(each.length >> 2) ?? 0)
}

/**
 * A share over groups with the lower bound of its 95 % interval: Wilson's, with as many independent trials as the variance between groups
 * implies, since the hits of one query are correlated.
 */
export function shareOf(found: readonly number[], wanted: readonly number[]) {
  const trials = sum(wanted)
  if (trials === 0) return { share: 1, atLeast: 1 }
  const share = sum(found) / trials
  const deviations = found.map((count, group) => count - share * at(wanted, group))
  const variance = deviations.reduce((sum, each) => sum + each * each, 0) / trials ** 2
  const independent = variance === 0 ? trials : Math.min(trials, (share * (1 - share)) / variance)
  return { share, atLeast: wilson(share, Math.max(1, independent)).low }
}

/** Scores of the ten best passages, best first, without `id`. */
function othersScores(hits: readonly { readonly id: string; readonly score: number }[], id: string | undefined): number[] {
  return hits
    .filter((hit) => hit.id !== id)
    .slice(0, RECALL_AT)
    .map((hit) => hit.score)
}
