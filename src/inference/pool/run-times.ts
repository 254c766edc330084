import type { TaskCall } from '../protocol.ts'
import type { Share } from './queue.ts'

/** Weight of the newest run in the averages. */
const NEWEST = 0.2

type Work = Pick<Share, 'lane' | 'cost'> & { readonly call: Pick<TaskCall, 'task'> }

/** Estimates durations from finished runs. */
export interface RunTimes {
  note(work: Work, ms: number): void
  /** Expected milliseconds of a run, 0 if unknown. */
  expect(work: Work): number
}

/** Moving averages of the time per unit of cost, per task and lane: an answer in many steps differs from one in a single run. */
export function createRunTimes(): RunTimes {
  const averages = new Map<string, { ms: number; cost: number }>()
  const kindOf = ({ call, lane }: Work): string => `${lane} ${call.task}`
  return {
    note: (work, ms) => {
      const { cost } = work
      const known = averages.get(kindOf(work))
      if (!known) averages.set(kindOf(work), { ms, cost })
      else {
        known.ms = (1 - NEWEST) * known.ms + NEWEST * ms
        known.cost = (1 - NEWEST) * known.cost + NEWEST * cost
      }
    },
    expect: (work) => {
      const known = averages.get(kindOf(work))
      return known ? (work.cost * known.ms) / known.cost : 0
    },
  }
}
