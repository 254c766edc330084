import { at } from '../../base/at.ts'
import { storeOf } from '../store/store-of.ts'
import type { Table } from '../table/lance.ts'
import type { AnnSettings } from '../table/metadata.ts'
import { latenciesOf, reachOf, type Probe } from './recall.ts'

/**
 * Candidates per result to refine with stored vectors. Codes of few bits per dimension rank roughly: among near-equal passages only
 * more candidates help, whatever the number of partitions.
 */
const REFINE: readonly number[] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 28, 40, 80, 160]

/** Minimum share of partitions to read: users' questions may be farther from the centres than the probes. */
const FEWEST = 1 / 32
const LEAST_FEWEST = 4
const MOST_FEWEST = 128
/** Factor between numbers of partitions to try. */
const FACTOR = Math.SQRT2

function nprobesFor(partitions: number): number[] {
  const steps: number[] = []
  const fewest = Math.max(LEAST_FEWEST, Math.min(MOST_FEWEST, partitions * FEWEST))
  for (let nprobes = fewest; Math.ceil(nprobes) < partitions; nprobes *= FACTOR)
    if (Math.ceil(nprobes) !== steps.at(-1)) steps.push(Math.ceil(nprobes))
  return [...steps, partitions]
}

interface TuneOptions extends Pick<AnnSettings, 'partitions' | 'rows'> {
  readonly minRecall: number
  /** Called with the number of completed steps; there may be fewer than the total. */
  readonly onProbes?: (done: number, total: number) => void
}

/** Probes to time where each search takes tens of requests. */
const MOST_TIMED_SLOW = 8

/**
 * Finds the fastest search settings that reach a recall, by measurement. Recall grows with partitions and with candidates, so only the edge
 * of their grid is walked: from the fewest partitions with the fewest sufficient candidates on, only towards fewer candidates.
 * @returns `chosen`: the fastest settings whose recall interval is above the required recall; else those of the highest recall if it reaches
 * the requirement as measured; undefined otherwise. `best`: the settings with the highest recall that were tried
 * @throws the signal's reason once aborted
 */
export async function tune(
  table: Table,
  { partitions, rows, minRecall, onProbes }: TuneOptions,
  probes: readonly Probe[],
  signal?: AbortSignal,
) {
  const isAsked = probes.some(({ id }) => id === undefined)
  const timed = storeOf(table.dir).slowReads ? probes.slice(0, MOST_TIMED_SLOW) : probes
  let refinements = REFINE
  let best: AnnSettings = { partitions, nprobes: partitions, refine: Math.max(...REFINE), rows, recall: 0 }
  let chosen: AnnSettings | undefined
  const steps = nprobesFor(partitions)
  for (const [done, nprobes] of steps.entries()) {
    onProbes?.(done, steps.length)
    if (refinements.length === 0) break
    const tried = { partitions, nprobes, rows, recall: 0 }
    const shares = await reachOf(table, { ...tried, refinements }, probes, signal)
    const settings = refinements.map((refine, i): AnnSettings => {
      const recall = Math.round(at(shares, i).share * 1e4) / 1e4
      return { ...tried, refine, recall, questionRecall: isAsked ? recall : undefined }
    })
    for (const one of settings) if (one.recall > best.recall) best = one
    const fewest = settings.find((_, i) => at(shares, i).atLeast >= minRecall)
    const candidate = fewest ?? settings.at(-1)
    if (candidate === undefined || (fewest === undefined && chosen === undefined)) continue
    const [latency = 0, known = Infinity] = chosen === undefined ? [] : await latenciesOf(table, [candidate, chosen], timed, signal)
    // Already slower than sufficient settings: more partitions would be slower still.
    if (fewest === undefined && latency >= known) break
    if (fewest !== undefined && latency < known) chosen = fewest
    if (fewest !== undefined) refinements = refinements.filter((other) => other < fewest.refine)
  }
  return { chosen: chosen ?? (best.recall >= minRecall ? best : undefined), best }
}
