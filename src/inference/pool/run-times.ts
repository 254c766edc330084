import type { TaskName } from '../protocol.ts'

/** Weight of the newest run in the averages. */
const NEWEST = 0.2

/** How long runs take, learnt from those that ended. */
export interface RunTimes {
  note(task: TaskName, cost: number, ms: number): void
  /** Milliseconds that a run of this cost will take, 0 where nothing is known yet. */
  expect(task: TaskName, cost: number): number
}

/** Moving averages of the time per unit of cost, one for each task. */
export function createRunTimes(): RunTimes {
  const averages = new Map<TaskName, { ms: number; cost: number }>()
  return {
    note: (task, cost, ms) => {
      const known = averages.get(task)
      if (!known) averages.set(task, { ms, cost })
      else {
        known.ms = (1 - NEWEST) * known.ms + NEWEST * ms
        known.cost = (1 - NEWEST) * known.cost + NEWEST * cost
      }
    },
    expect: (task, cost) => {
      const known = averages.get(task)
      return known ? (cost * known.ms) / known.cost : 0
    },
  }
}
