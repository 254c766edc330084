import { at } from '../../base/at.ts'
import { isRemote } from '../store/place.ts'
import type { Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import { measureRecall, reachOf, type Probe } from './recall.ts'

/**
 * Candidates per passage wanted that are compared again by their stored vectors. Codes of one bit per dimension rank
 * roughly: among near-equal passages only more candidates help, whatever number of partitions is read.
 */
const REFINE: readonly number[] = [4, 6, 10, 14, 20, 28, 40, 80, 160]

/** Share of the partitions that is read at least: questions lie farther from their centres than the stored vectors that recall is measured with. */
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
}

/** Probes whose searches are timed in an object store, where each of them is tens of requests. */
const TIMED_REMOTELY = 8

/**
 * Finds the search settings that reach a recall fastest, by measuring. Recall grows both with the partitions read and with
 * the candidates refined, so of their grid only the edge of what suffices is walked: from the fewest partitions on, the fewest
 * candidates that reach the recall, its interval included, and then only fewer than those.
 * @throws the signal's reason once aborted.
 */
export async function tune(
  table: Table,
  { partitions, rows, minRecall }: TuneOptions,
  probes: readonly Probe[],
  signal?: AbortSignal,
): Promise<Tuned> {
  const timed = isRemote(table.dir) ? probes.slice(0, TIMED_REMOTELY) : probes
  let refinements = REFINE
  let best: AnnSettings = { partitions, nprobes: partitions, refine: Math.max(...REFINE), rows, recall: 0 }
  let chosen: { readonly settings: AnnSettings; readonly latency: number } | undefined
  for (const nprobes of nprobesFor(partitions)) {
    if (refinements.length === 0) break
    const settings = { partitions, nprobes, rows, recall: 0 }
    const reached = await reachOf(table, { ...settings, refinements }, probes, signal)
    const tried = reached.map(({ share, atLeast }, i) => ({ refine: at(refinements, i), share, atLeast }))
    for (const { refine, share } of tried) if (share > best.recall) best = { ...settings, refine, recall: rounded(share) }
    const fewest = tried.find(({ atLeast }) => atLeast >= minRecall)
    const most = tried.at(-1)
    if (most === undefined || (fewest === undefined && chosen === undefined)) continue
    const { refine, share } = fewest ?? most
    const { latency } = await measureRecall(table, { ...settings, refine }, timed, signal)
    const faster = chosen === undefined || latency < chosen.latency
    // Slower already than what suffices: more partitions would be slower still.
    if (fewest === undefined && !faster) break
    if (fewest !== undefined && faster) chosen = { settings: { ...settings, refine, recall: rounded(share) }, latency }
    if (fewest !== undefined) refinements = refinements.filter((other) => other < fewest.refine)
  }
  return { chosen: chosen?.settings ?? (best.recall >= minRecall ? best : undefined), best }
}

/** Of a share, four decimals. */
function rounded(share: number): number {
  return Math.round(share * 1e4) / 1e4
}
