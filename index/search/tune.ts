import { at } from '../../base/at.ts'
import { storeOf } from '../store/store-of.ts'
import type { Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import { measureRecall, reachOf, type Probes, type Share } from './recall.ts'

/**
 * Candidates per result to refine with stored vectors. Codes of one bit per dimension rank roughly: among near-equal passages only more
 * candidates help, whatever the number of partitions.
 */
const REFINE: readonly number[] = [4, 6, 10, 14, 20, 28, 40, 80, 160]

/** Minimum share of partitions to read: users' questions may be farther from the centres than the probes. */
const FEWEST = 1 / 32
const LEAST_FEWEST = 4
const MOST_FEWEST = 128
/** Factor between numbers of partitions to try. */
const FACTOR = Math.SQRT2

/** Numbers of partitions to try. */
function nprobesFor(partitions: number): number[] {
  const steps: number[] = []
  const fewest = Math.max(LEAST_FEWEST, Math.min(MOST_FEWEST, partitions * FEWEST))
  for (let nprobes = fewest; Math.ceil(nprobes) < partitions; nprobes *= FACTOR)
    if (Math.ceil(nprobes) !== steps.at(-1)) steps.push(Math.ceil(nprobes))
  return [...steps, partitions]
}

export interface Tuned {
  /**
   * The fastest settings whose recall interval is above the required recall; else those of the highest recall if it reaches the requirement
   * as measured; undefined otherwise.
   */
  readonly chosen: AnnSettings | undefined
  /** The settings with the highest recall that were tried. */
  readonly best: AnnSettings
}

export interface TuneOptions {
  /** Of the vector index. */
  readonly partitions: number
  /** Of the table. */
  readonly rows: number
  readonly minRecall: number
  /** Called with the number of completed steps; there may be fewer than the total. */
  readonly onProbes?: (done: number, total: number) => void
}

/** Probes to time where each search takes tens of requests. */
const MOST_TIMED_SLOW = 8

/**
 * Finds the fastest search settings that reach a recall, of stored vectors and of questions, by measurement. Recall grows with partitions
 * and with candidates, so only the edge of their grid is walked: from the fewest partitions with the fewest sufficient candidates on, only
 * towards fewer candidates.
 * @throws the signal's reason once aborted
 */
export async function tune(
  table: Table,
  { partitions, rows, minRecall, onProbes }: TuneOptions,
  probes: Probes,
  signal?: AbortSignal,
): Promise<Tuned> {
  const { passages, questions } = probes
  const searched = questions.length > 0 ? questions : passages
  const timed = storeOf(table.dir).slowReads ? searched.slice(0, MOST_TIMED_SLOW) : searched
  let refinements = REFINE
  let best: AnnSettings = { partitions, nprobes: partitions, refine: Math.max(...REFINE), rows, recall: 0 }
  let chosen: { readonly settings: AnnSettings; readonly latency: number } | undefined
  const steps = nprobesFor(partitions)
  for (const [done, nprobes] of steps.entries()) {
    onProbes?.(done, steps.length)
    if (refinements.length === 0) break
    const settings = { partitions, nprobes, rows, recall: 0 }
    const stored = await reachOf(table, { ...settings, refinements }, passages, signal)
    const asked = questions.length > 0 ? await reachOf(table, { ...settings, refinements }, questions, signal) : undefined
    const tried = refinements.map((refine, i) => lower(refine, at(stored, i), asked && at(asked, i)))
    for (const { reached } of tried) if (reached.recall > best.recall) best = { ...settings, ...reached }
    const fewest = tried.find(({ atLeast }) => atLeast >= minRecall)
    const most = tried.at(-1)
    if (most === undefined || (fewest === undefined && chosen === undefined)) continue
    const { reached } = fewest ?? most
    const { latency } = await measureRecall(table, { ...settings, ...reached }, timed, signal)
    const faster = chosen === undefined || latency < chosen.latency
    // Already slower than sufficient settings: more partitions would be slower still.
    if (fewest === undefined && !faster) break
    if (fewest !== undefined && faster) chosen = { settings: { ...settings, ...reached }, latency }
    if (fewest !== undefined) refinements = refinements.filter((other) => other < fewest.reached.refine)
  }
  return { chosen: chosen?.settings ?? (best.recall >= minRecall ? best : undefined), best }
}

/** Recall of a number of candidates, the lower of both kinds of queries. */
interface Reached {
  readonly reached: Pick<AnnSettings, 'refine' | 'recall' | 'questionRecall'>
  /** Lower bound of the recall's interval. */
  readonly atLeast: number
}

function lower(refine: number, stored: Share, asked: Share | undefined): Reached {
  const recall = rounded(Math.min(stored.share, asked?.share ?? 1))
  return {
    reached: { refine, recall, questionRecall: asked && rounded(asked.share) },
    atLeast: Math.min(stored.atLeast, asked?.atLeast ?? 1),
  }
}

/** Rounds a share to four decimals. */
function rounded(share: number): number {
  return Math.round(share * 1e4) / 1e4
}
