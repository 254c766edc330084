import { CodedError } from '../../../base/errors.ts'
import { hasShareLeft } from '../../../base/fair-share.ts'
import type { Admission, Permit } from '../contract.ts'

const LONGEST_RETRY_AFTER_S = 60
/** Weight kept by earlier questions when one finishes. */
const DECAY = 0.95
/** Finished questions needed for an estimate. */
const LEAST_FINISHED = 3
const REJECTION_MEMORY_MS = 1000
/** Share of its deadline that a question's estimate may use: reduced after late ones, increased after others. */
const SAFE_SHARE = { least: 0.2, most: 0.9, afterLate: 0.8, afterDone: 0.02 } as const

interface AdmissionOptions {
  /** Limit of waiting questions; several clients together may have twice as many. */
  readonly maxWaiting: number
  /** Questions processed concurrently. */
  readonly concurrency: number
  /**
   * Increases whenever a process stops responding, ends or is replaced. Durations measured across such an event are ignored. Default:
   * never.
   */
  readonly disruptions?: () => number
  /** Clock in milliseconds; for tests. */
  readonly now?: () => number
}

/**
 * Admission control in front of the whole pipeline: a question takes a permit before any work is done for it, and holds it
 * until it ends. If its estimated wait, by the recent rate of finished questions, exceeds its deadline, it is rejected immediately.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  return new AdmissionController({ disruptions: () => 0, now: () => performance.now(), ...options })
}

type Question = Parameters<Admission['enter']>[0]

class AdmissionController implements Admission {
  readonly #options: Required<AdmissionOptions>
  readonly #rate: WorkRate
  readonly #clients = new Map<string, { questions: number; cost: number }>()
  #questions = 0
  #safeShare: number = SAFE_SHARE.most
  /** Recently rejected work. */
  readonly #rejected = { cost: 0, at: 0 }

  constructor(options: Required<AdmissionOptions>) {
    this.#options = options
    this.#rate = new WorkRate(options)
  }

  enter({ client = '', cost, deadlineMs = Infinity }: Question): Permit {
    this.#check({ client, cost, deadlineMs })
    if (this.#questions === 0) this.#rate.begin()
    this.#questions++
    const account = this.#clients.get(client) ?? { questions: 0, cost: 0 }
    account.questions++
    account.cost += cost
    this.#clients.set(client, account)
    let isHeld = true
    const { now, disruptions } = this.#options
    const [entered, before] = [now(), disruptions()]
    return {
      release: (done) => {
        if (!isHeld) return
        isHeld = false
        this.#questions--
        account.questions--
        account.cost -= cost
        if (account.questions === 0) this.#clients.delete(client)
        if (done) {
          this.#safeShare = Math.min(SAFE_SHARE.most, this.#safeShare + SAFE_SHARE.afterDone)
          this.#rate.finish(cost)
        } else if (now() - entered >= deadlineMs && disruptions() === before)
          this.#safeShare = Math.max(SAFE_SHARE.least, this.#safeShare * SAFE_SHARE.afterLate)
      },
    }
  }

  /** @throws overloaded */
  #check({ client, cost, deadlineMs }: Required<Question>): void {
    const { maxWaiting, concurrency } = this.#options
    const own = this.#clients.get(client)?.questions ?? 0
    const clients = this.#clients.size + (this.#clients.has(client) ? 0 : 1)
    const expectedMs = this.#workBefore(client, cost) * this.#rate.msPerCost()
    if (!hasShareLeft(maxWaiting + concurrency, { total: this.#questions, own, clients }))
      throw this.#refusal(`${this.#questions} questions are running or queued.`, cost, expectedMs / 2)
    const safeMs = this.#safeShare * deadlineMs
    if (this.#questions < concurrency || expectedMs <= safeMs) return
    const seconds = (expectedMs / 1000).toFixed(1)
    throw this.#refusal(`The estimated response time is ${seconds} s, the deadline ${deadlineMs / 1000} s.`, cost, expectedMs - safeMs)
  }

  /** Work before this question: that of other clients counts up to this client's own, by fair queueing. */
  #workBefore(client: string, cost: number): number {
    const own = (this.#clients.get(client)?.cost ?? 0) + cost
    const others = [...this.#clients].filter(([other]) => other !== client)
    return others.reduce((sum, [, { cost: theirs }]) => sum + Math.min(theirs, own), own)
  }

  #refusal(message: string, cost: number, waitMs: number): CodedError {
    const time = this.#options.now()
    const away = this.#rejected
    away.cost = away.cost * Math.exp((away.at - time) / REJECTION_MEMORY_MS) + cost
    away.at = time
    // Rejected clients retry: with equal Retry-After values, their retries would arrive together and be rejected again.
    const crowdMs = away.cost * this.#rate.msPerCost()
    return new CodedError('overloaded', `${message} Try again later.`, {
      retryAfterS: Math.min(LONGEST_RETRY_AFTER_S, Math.max(1, Math.ceil(Math.max(waitMs, crowdMs) / 1000))),
    })
  }
}

/** Time per unit of work, estimated from recently finished questions. */
class WorkRate {
  readonly #options: Pick<Required<AdmissionOptions>, 'disruptions' | 'now'>
  /** Decaying sums over finished questions while there was work: their ratio is the time per unit of cost. */
  readonly #finished = { ms: 0, cost: 0, count: 0 }
  #workedSince = 0
  #disruptionsBefore = 0

  constructor(options: Pick<Required<AdmissionOptions>, 'disruptions' | 'now'>) {
    this.#options = options
  }

  /** Starts or resumes the measurement. */
  begin(): void {
    this.#workedSince = this.#options.now()
    this.#disruptionsBefore = this.#options.disruptions()
  }

  finish(cost: number): void {
    if (this.#options.disruptions() === this.#disruptionsBefore) {
      const finished = this.#finished
      finished.ms = DECAY * finished.ms + this.#options.now() - this.#workedSince
      finished.cost = DECAY * finished.cost + cost
      finished.count++
    }
    this.begin()
  }

  /** 0 without enough data. */
  msPerCost(): number {
    return this.#finished.count < LEAST_FINISHED ? 0 : this.#finished.ms / this.#finished.cost
  }
}
