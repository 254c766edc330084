import type { Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import { measureRecall, type Probe } from './recall.ts'

/**
 * Candidates per passage wanted that are compared again by their stored vectors. Codes of one bit per dimension rank
 * roughly: among near-equal passages only more candidates help, whatever number of partitions is read.
 */
const REFINE = [4, 6, 10, 14, 20, 28, 40, 80, 160]

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

/**
 * Finds the search settings that reach a recall fastest, by measuring. Recall grows both with the partitions read and with
 * the candidates refined, so of their grid only the edge of what suffices is walked: from the fewest partitions and most
 * candidates, candidates are taken away while the recall is reached, its interval included, and partitions added where it is not.
 * @throws the signal's reason once aborted.
 */
export async function tune(
  table: Table,
  { partitions, rows, minRecall }: TuneOptions,
  probes: readonly Probe[],
  signal?: AbortSignal,
): Promise<Tuned> {
  const refinements = [...REFINE]
  let best: AnnSettings = { partitions, nprobes: partitions, refine: Math.max(...REFINE), rows, recall: 0 }
  let chosen: { readonly settings: AnnSettings; readonly latency: number } | undefined
  for (const nprobes of nprobesFor(partitions)) {
    for (let refine = refinements.at(-1); refine !== undefined; refine = refinements.at(-1)) {
      const { recall, atLeast, latency } = await measureRecall(table, { partitions, nprobes, refine, rows, recall: 0 }, probes, signal)
      const settings = { partitions, nprobes, refine, rows, recall: Math.round(recall * 1e4) / 1e4 }
      if (recall > best.recall) best = settings
      if (atLeast < minRecall) {
        // Slower already than what suffices: more partitions would be slower still.
        if (chosen !== undefined && latency >= chosen.latency) return { chosen: chosen.settings, best }
        break
      }
      if (chosen === undefined || latency < chosen.latency) chosen = { settings, latency }
      refinements.pop()
    }
  }
  return { chosen: chosen?.settings ?? (best.recall >= minRecall ? best : undefined), best }
}
