import { CodedError } from '../../../base/errors.ts'
import { hasShareLeft } from '../../../base/fair-share.ts'
import type { Admission } from '../contract.ts'

const LONGEST_RETRY_AFTER_S = 60
/** Weight kept by earlier questions when one finishes. */
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

/**
 * Admission control in front of the whole pipeline: a question takes a permit before any work is done for it, and holds it
 * until it ends. If its estimated wait, by the recent rate of finished questions, exceeds its deadline, it is rejected immediately.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const { maxWaiting, concurrency, disruptions = () => 0, now = () => performance.now() } = options
  const rate = workRate(now, disruptions)
  const clients: Clients = new Map()
  const rejected = { cost: 0, at: 0 }
  let questions = 0
  let safeShare: number = SAFE_SHARE.most

  const refusal = (message: string, cost: number, waitMs: number): CodedError => {
    const time = now()
    rejected.cost = rejected.cost * Math.exp((rejected.at - time) / REJECTION_MEMORY_MS) + cost
    rejected.at = time
    // Rejected clients retry: with equal Retry-After values, their retries would arrive together and be rejected again.
    const seconds = Math.ceil(Math.max(waitMs, rejected.cost * rate.msPerCost()) / 1000)
    const retryAfterS = Math.min(LONGEST_RETRY_AFTER_S, Math.max(1, seconds))
    return new CodedError('overloaded', `${message} Try again later.`, { retryAfterS })
  }

  const check = (client: string, cost: number, deadlineMs: number): void => {
    const expectedMs = workBefore(clients, client, cost) * rate.msPerCost()
    const own = clients.get(client)?.questions ?? 0
    const share = { total: questions, own, clients: clients.size + (clients.has(client) ? 0 : 1) }
    if (!hasShareLeft(maxWaiting + concurrency, share)) throw refusal(`${questions} questions are running or queued.`, cost, expectedMs / 2)
    const safeMs = safeShare * deadlineMs
    if (questions < concurrency || expectedMs <= safeMs) return
    const seconds = (expectedMs / 1000).toFixed(1)
    throw refusal(`The estimated response time is ${seconds} s, the deadline ${deadlineMs / 1000} s.`, cost, expectedMs - safeMs)
  }

  return {
    enter: ({ client = '', cost, deadlineMs = Infinity }) => {
      check(client, cost, deadlineMs)
      if (questions === 0) rate.begin()
      questions++
      const account = clients.get(client) ?? { questions: 0, cost: 0 }
      account.questions++
      account.cost += cost
      clients.set(client, account)
      let isHeld = true
      const [entered, before] = [now(), disruptions()]
      return {
        release: (done) => {
          if (!isHeld) return
          isHeld = false
          questions--
          account.questions--
          account.cost -= cost
          if (account.questions === 0) clients.delete(client)
          if (done) {
            safeShare = Math.min(SAFE_SHARE.most, safeShare + SAFE_SHARE.afterDone)
            rate.finish(cost)
          } else if (now() - entered >= deadlineMs && disruptions() === before)
            safeShare = Math.max(SAFE_SHARE.least, safeShare * SAFE_SHARE.afterLate)
        },
      }
    },
  }
}

/** Questions that run or wait, by client. */
type Clients = Map<string, { questions: number; cost: number }>

/** Work before a question: that of other clients counts up to this client's own, by fair queueing. */
function workBefore(clients: Clients, client: string, cost: number): number {
  const own = (clients.get(client)?.cost ?? 0) + cost
  const others = [...clients].filter(([other]) => other !== client)
  return others.reduce((sum, [, { cost: theirs }]) => sum + Math.min(theirs, own), own)
}

/** Time per unit of work, estimated from recently finished questions. */
function workRate(now: () => number, disruptions: () => number) {
  /** Decaying sums over finished questions while there was work: their ratio is the time per unit of cost. */
  const finished = { ms: 0, cost: 0, count: 0 }
  let [workedSince, disruptionsBefore] = [0, 0]
  const begin = (): void => {
    workedSince = now()
    disruptionsBefore = disruptions()
  }
  return {
    begin,
    finish: (cost: number): void => {
      if (disruptions() === disruptionsBefore) {
        finished.ms = DECAY * finished.ms + now() - workedSince
        finished.cost = DECAY * finished.cost + cost
        finished.count++
      }
      begin()
    },
    /** 0 without enough data. */
    msPerCost: () => (finished.count < LEAST_FINISHED ? 0 : finished.ms / finished.cost),
  }
}
