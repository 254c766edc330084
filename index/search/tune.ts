import type { Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import { measureRecall, type Probe } from './recall.ts'

/**
 * Candidates per passage wanted that are compared again by their stored vectors. Codes of one bit per dimension rank
 * roughly: among near-equal passages only more candidates help, whatever number of partitions is read.
 */
const REFINE = [10, 20, 40, 80, 160]

/**
 * Partitions read. Fewer than the first would save next to nothing, and questions lie farther from the centres of
 * partitions than the stored vectors that recall is measured with.
 */
function nprobesFor(partitions: number): number[] {
  const steps: number[] = []
  for (let nprobes = Math.min(200, Math.ceil(partitions / 7)); nprobes < partitions; nprobes *= 2) steps.push(nprobes)
  return [...steps, partitions]
}

export interface Tuned {
  /** The fastest settings that reach the recall; undefined if none does. */
  readonly chosen: AnnSettings | undefined
  /** Those of the highest recall that were tried. */
  readonly best: AnnSettings
}

/**
 * Finds the search settings that reach a recall fastest, by measuring. Recall grows both with the partitions read and with
 * the candidates refined, so of their grid only the edge of what suffices is walked: from the fewest partitions and most
 * candidates, candidates are taken away while the recall is reached and partitions added where it is not.
 * @throws the signal's reason once aborted.
 */
export async function tune(
  table: Table,
  partitions: number,
  probes: readonly Probe[],
  minRecall: number,
  signal?: AbortSignal,
): Promise<Tuned> {
  const rows = await table.countRows()
  const refinements = [...REFINE]
  let best: AnnSettings = { partitions, nprobes: partitions, refine: Math.max(...REFINE), rows, recall: 0 }
  let chosen: { readonly settings: AnnSettings; readonly latency: number } | undefined
  for (const nprobes of nprobesFor(partitions)) {
    for (let refine = refinements.at(-1); refine !== undefined; refine = refinements.at(-1)) {
      const { recall, latency } = await measureRecall(table, { partitions, nprobes, refine, rows, recall: 0 }, probes, signal)
      const settings = { partitions, nprobes, refine, rows, recall: Math.round(recall * 1e4) / 1e4 }
      if (recall > best.recall) best = settings
      if (recall < minRecall) {
        // Slower already than what suffices: more partitions would be slower still.
        if (chosen !== undefined && latency >= chosen.latency) return { chosen: chosen.settings, best }
        break
      }
      if (chosen === undefined || latency < chosen.latency) chosen = { settings, latency }
      refinements.pop()
    }
  }
  return { chosen: chosen?.settings, best }
}
