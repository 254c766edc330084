import { CodedError } from '../../../base/errors.ts'
import type { Admission, Permit } from '../contract.ts'

const LONGEST_RETRY_AFTER_S = 60
/** Part of what was known that the newest finished question leaves. */
const REMEMBERED = 0.95
/** Questions that must have finished before the rate is believed. */
const LEAST_FINISHED = 3
/** Part of its deadline that a question may be expected to take: the expectation is an average. */
const SAFE_SHARE = 0.9

export interface AdmissionOptions {
  /** Questions that may wait beside those in work. Several clients may bring in twice as many. */
  readonly maxWaiting: number
  /** Questions that are worked on at the same time. */
  readonly places: number
  /** Milliseconds; for tests. */
  readonly now?: () => number
}

/**
 * The door in front of the whole pipeline: a question takes one place here before any work is done for it, and keeps it
 * to its end. What would wait past its deadline is refused at once, by the rate at which questions were finished lately.
 */
export function createAdmission({ maxWaiting, places, now = () => performance.now() }: AdmissionOptions): Admission {
  const most = maxWaiting + places
  const clients = new Map<string, { questions: number; cost: number }>()
  let questions = 0
  /** Decaying sums over finished questions, as long as there was work: their ratio is the time per unit of cost. */
  const finished = { ms: 0, cost: 0, count: 0 }
  let workedSince = 0

  const msPerCost = (): number => (finished.count < LEAST_FINISHED ? 0 : finished.ms / finished.cost)

  /** Work done before this question is: that of others counts up to the client's own, since clients are served in equal parts. */
  const workBefore = (client: string, cost: number): number => {
    const own = (clients.get(client)?.cost ?? 0) + cost
    const others = [...clients].filter(([other]) => other !== client)
    return others.reduce((sum, [, { cost: theirs }]) => sum + Math.min(theirs, own), own)
  }

  const refuse = (message: string, waitMs: number): CodedError =>
    new CodedError('overloaded', `${message} Try again later.`, {
      retryAfterS: Math.min(LONGEST_RETRY_AFTER_S, Math.max(1, Math.ceil(waitMs / 1000))),
    })

  const leave = (client: string, cost: number, done: boolean): void => {
    const account = clients.get(client)
    if (account) {
      account.questions--
      account.cost -= cost
      if (account.questions === 0) clients.delete(client)
    }
    questions--
    if (!done) return
    const time = now()
    finished.ms = REMEMBERED * finished.ms + time - workedSince
    finished.cost = REMEMBERED * finished.cost + cost
    finished.count++
    workedSince = time
  }

  const enter = ({ client = '', cost, deadlineMs = Infinity }: Parameters<Admission['enter']>[0]): Permit => {
    const held = clients.get(client)?.questions ?? 0
    const present = clients.size + (clients.has(client) ? 0 : 1)
    const expectedMs = workBefore(client, cost) * msPerCost()
    if (questions >= most && (questions >= 2 * most || held >= most / present))
      throw refuse(`${questions} questions are being answered or wait already.`, expectedMs / 2)
    if (questions >= places && expectedMs > SAFE_SHARE * deadlineMs)
      throw refuse(
        `An answer would take about ${(expectedMs / 1000).toFixed(1)} s, and ${deadlineMs / 1000} s are allowed.`,
        expectedMs - SAFE_SHARE * deadlineMs,
      )
    if (questions === 0) workedSince = now()
    questions++
    const account = clients.get(client) ?? { questions: 0, cost: 0 }
    account.questions++
    account.cost += cost
    clients.set(client, account)
    let isHeld = true
    return {
      release: (done) => {
        if (isHeld) leave(client, cost, done)
        isHeld = false
      },
    }
  }

  return { enter }
}
