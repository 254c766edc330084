import { at } from '../../base/at.ts'
import { storeOf } from '../store/store-of.ts'
import type { Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import { measureRecall, reachOf, type Probes, type Share } from './recall.ts'

/**
 * Candidates per passage wanted that are compared again by their stored vectors. Codes of one bit per dimension rank
 * roughly: among near-equal passages only more candidates help, whatever number of partitions is read.
 */
const REFINE: readonly number[] = [4, 6, 10, 14, 20, 28, 40, 80, 160]

/** Share of the partitions that is read at least: questions of users may lie farther from the centres than those that recall is measured with. */
const FEWEST = 1 / 32
const LEAST_FEWEST = 4
const MOST_FEWEST = 128
/** From one number of partitions to the next. */
const STEP = Math.SQRT2

/** Numbers of partitions to be tried. */
function nprobesFor(partitions: number): number[] {
  const steps: number[] = []
  const fewest = Math.max(LEAST_FEWEST, Math.min(MOST_FEWEST, partitions * FEWEST))
  for (let nprobes = fewest; Math.ceil(nprobes) < partitions; nprobes *= STEP)
    if (Math.ceil(nprobes) !== steps.at(-1)) steps.push(Math.ceil(nprobes))
  return [...steps, partitions]
}

export interface Tuned {
  /**
   * The fastest settings whose recall is above the one asked for with its whole interval; where none is, those of the highest
   * recall if it reaches what is asked for as measured; undefined if it does not.
   */
  readonly chosen: AnnSettings | undefined
  /** Those of the highest recall that were tried. */
  readonly best: AnnSettings
}

export interface TuneOptions {
  /** Of the vector index. */
  readonly partitions: number
  /** Of the table. */
  readonly rows: number
  readonly minRecall: number
  /** Told how many of the steps are done; there may be fewer. */
  readonly onProbes?: (done: number, total: number) => void
}

/** Probes whose searches are timed where each of them is tens of requests. */
const MOST_TIMED_SLOW = 8

/**
 * Finds the search settings that reach a recall fastest, by measuring, of stored vectors and of questions alike. Recall grows both with the partitions read and with
 * the candidates refined, so of their grid only the edge of what suffices is walked: from the fewest partitions on, the fewest
 * candidates that reach the recall, its interval included, and then only fewer than those.
 * @throws the signal's reason once aborted.
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
    // Slower already than what suffices: more partitions would be slower still.
    if (fewest === undefined && !faster) break
    if (fewest !== undefined && faster) chosen = { settings: { ...settings, ...reached }, latency }
    if (fewest !== undefined) refinements = refinements.filter((other) => other < fewest.reached.refine)
  }
  return { chosen: chosen?.settings ?? (best.recall >= minRecall ? best : undefined), best }
}

/** What a number of candidates reaches: of both kinds of queries the lower. */
interface Reached {
  readonly reached: Pick<AnnSettings, 'refine' | 'recall' | 'questionRecall'>
  /** Lower end of the recall's interval. */
  readonly atLeast: number
}

function lower(refine: number, stored: Share, asked: Share | undefined): Reached {
  const recall = rounded(Math.min(stored.share, asked?.share ?? 1))
  return {
    reached: { refine, recall, ...(asked && { questionRecall: rounded(asked.share) }) },
    atLeast: Math.min(stored.atLeast, asked?.atLeast ?? 1),
  }
}

/** Of a share, four decimals. */
function rounded(share: number): number {
  return Math.round(share * 1e4) / 1e4
}
