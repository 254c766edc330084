import { sum } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { hasShareLeft } from '../../../base/fair-share.ts'
import type { Admission } from '../contract.ts'
import { RunTimes } from './run-times.ts'

const LONGEST_RETRY_AFTER_S = 60
/** Weight kept by earlier questions of a kind when one finishes. */
const DECAY = 0.95
const LEAST_FINISHED = 3
const REJECTION_MEMORY_MS = 1000
/** Share of its deadline that a question's estimate may use: reduced after late ones, increased after others. */
const SAFE_SHARE = { least: 0.2, most: 0.9, afterLate: 0.8, afterDone: 0.02 } as const

interface AdmissionOptions {
  /** Limit of waiting questions; several clients together may have twice as many. */
  readonly maxWaiting: number
  readonly concurrency: number
  /** Increases whenever a process stops responding, ends or is replaced. Durations across such an event are ignored. Default: never. */
  readonly disruptions?: () => number
  /** Clock in milliseconds; for tests. */
  readonly now?: () => number
}

/** A question that runs or waits. */
interface Work {
  readonly client: string
  readonly kind: string
  readonly cost: number
  /** When a process was free for it, presumably. */
  begun?: { readonly at: number; readonly disruptions: number } | undefined
}

/**
 * Admission control in front of the whole pipeline: a question takes a permit before any work is done for it, and holds it
 * until it ends. If its estimated wait, by the recent rates of finished questions of each kind, exceeds its deadline, it is rejected
 * immediately. Questions of a kind whose costs are wrong in different ways are still estimated by their average.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const { maxWaiting, concurrency, disruptions = () => 0, now = () => performance.now() } = options
  const runTimes = new RunTimes(DECAY, LEAST_FINISHED)
  const held = new Set<Work>()
  const rejected = { ms: 0, at: 0 }
  let safeShare: number = SAFE_SHARE.most

  const refusal = (message: string, ownMs: number, waitMs: number): CodedError => {
    const time = now()
    rejected.ms = rejected.ms * Math.exp((rejected.at - time) / REJECTION_MEMORY_MS) + ownMs
    rejected.at = time
    // Rejected clients retry: with equal Retry-After values, their retries would arrive together and be rejected again.
    const seconds = Math.ceil(Math.max(waitMs, rejected.ms) / 1000)
    const retryAfterS = Math.min(LONGEST_RETRY_AFTER_S, Math.max(1, seconds))
    return new CodedError('overloaded', `${message} Try again later.`, { retryAfterS })
  }

  const check = (work: Work, deadlineMs: number): void => {
    const clients = timeByClient([...held, work], (each) => runTimes.expect(each))
    const expectedMs = timeBefore(clients, work.client)
    const own = [...held].filter(({ client }) => client === work.client).length
    const share = { total: held.size, own, clients: clients.size }
    const ownMs = runTimes.expect(work)
    if (!hasShareLeft(maxWaiting + concurrency, share))
      throw refusal(`${held.size} questions are running or queued.`, ownMs, expectedMs / 2)
    const safeMs = safeShare * deadlineMs
    if (held.size < concurrency || expectedMs <= safeMs) return
    const seconds = (expectedMs / 1000).toFixed(1)
    throw refusal(`The estimated response time is ${seconds} s, the deadline ${deadlineMs / 1000} s.`, ownMs, expectedMs - safeMs)
  }

  /** The oldest waiting questions take the free processes. */
  const begin = (): void => {
    const waiting = [...held].filter(({ begun }) => begun === undefined)
    const free = concurrency - (held.size - waiting.length)
    for (const work of waiting.slice(0, free)) work.begun = { at: now(), disruptions: disruptions() }
  }

  const finish = (work: Work): void => {
    // Clients are served in turn: it ran in the place of another.
    const other = work.begun ? undefined : [...held].findLast(({ begun }) => begun)
    const begun = work.begun ?? other?.begun
    if (other) other.begun = undefined
    if (begun?.disruptions === disruptions()) runTimes.note(work, (now() - begun.at) / concurrency)
  }

  return {
    enter: ({ client = '', kind = '', cost, deadlineMs = Infinity }) => {
      const work: Work = { client, kind, cost }
      check(work, deadlineMs)
      held.add(work)
      begin()
      const [entered, before] = [now(), disruptions()]
      return {
        release: (done) => {
          if (!held.delete(work)) return
          if (done) {
            safeShare = Math.min(SAFE_SHARE.most, safeShare + SAFE_SHARE.afterDone)
            finish(work)
          } else if (now() - entered >= deadlineMs && disruptions() === before)
            safeShare = Math.max(SAFE_SHARE.least, safeShare * SAFE_SHARE.afterLate)
          begin()
        },
      }
    },
  }
}

function timeByClient(all: readonly Work[], msOf: (work: Work) => number): Map<string, number> {
  const times = new Map<string, number>()
  for (const work of all) times.set(work.client, (times.get(work.client) ?? 0) + msOf(work))
  return times
}

/** Time until a client's questions are done: that of other clients counts up to its own, by fair queueing. */
function timeBefore(times: ReadonlyMap<string, number>, client: string): number {
  const own = times.get(client) ?? 0
  return sum([...times.values()].map((theirs) => Math.min(theirs, own)))
}
