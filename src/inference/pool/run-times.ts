import type { TaskCall } from '../protocol.ts'
import type { Share } from './queue.ts'

const NEWEST = 0.2

type Work = Pick<Share, 'lane' | 'cost'> & { readonly kind: string; readonly call: Pick<TaskCall, 'task'> }

/** Moving averages of the time per unit of cost, per task, lane and kind: an answer in many steps differs from one in a single run. */
export class RunTimes {
  readonly #averages = new Map<string, { ms: number; cost: number }>()

  note(work: Work, ms: number): void {
    const { cost } = work
    const known = this.#averages.get(kindOf(work))
    if (!known) this.#averages.set(kindOf(work), { ms, cost })
    else {
      known.ms = (1 - NEWEST) * known.ms + NEWEST * ms
      known.cost = (1 - NEWEST) * known.cost + NEWEST * cost
    }
  }

  /** Expected milliseconds of a run, 0 if unknown. */
  expect(work: Work): number {
    const known = this.#averages.get(kindOf(work))
    return known ? (work.cost * known.ms) / known.cost : 0
  }
}

function kindOf({ call, lane, kind }: Work): string {
  return `${lane} ${call.task} ${kind}`
}
