import { sum } from '../../../base/at.ts'

/** Priority lanes. `question`: one uninterruptible run. `long`: many steps, interleaved. `bulk`: runs when no question waits. */
export const LANES = ['question', 'long', 'bulk'] as const
export type Lane = (typeof LANES)[number]

export interface Share {
  readonly lane: Lane
  readonly client: string
  /** Work in any consistent unit. */
  readonly cost: number
}

interface Account<Item> {
  /** Sets keep insertion order and remove an item in constant time. */
  readonly waiting: Readonly<Record<Lane, Set<Item>>>
  /** Virtual start time of the client's next item: the end of its last one, or its arrival. */
  start: number
}

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, 1996): waiting clients get equal shares of work, whatever the size and number of their
 * requests; items of one client and lane are first come, first served.
 */
export class FairQueue<Item extends Share> {
  readonly #accounts = new Map<string, Account<Item>>()
  /** Virtual start time of the item last served. */
  #now = 0

  push(item: Item): void {
    this.#accountOf(item.client).waiting[item.lane].add(item)
  }

  /** Removes and returns the next item of a lane. */
  shift(lane: Lane): Item | undefined {
    let next: Account<Item> | undefined
    for (const account of this.#accounts.values()) {
      if (account.waiting[lane].size > 0 && (next === undefined || account.start < next.start)) next = account
    }
    const [item] = next?.waiting[lane] ?? []
    if (next === undefined || item === undefined) return undefined
    next.waiting[lane].delete(item)
    this.#now = Math.max(this.#now, next.start)
    next.start += item.cost
    this.#forgetIdle()
    return item
  }

  remove(item: Item): void {
    this.#accounts.get(item.client)?.waiting[item.lane].delete(item)
  }

  clear(): Item[] {
    const items = [...this.#accounts.values()].flatMap(({ waiting }) => LANES.flatMap((lane) => [...waiting[lane]]))
    this.#accounts.clear()
    return items
  }

  size(lane: Lane): number {
    return sum(Array.from(this.#accounts.values(), ({ waiting }) => waiting[lane].size))
  }

  /** Accounts without a debt equal new ones and are dropped. */
  #forgetIdle(): void {
    for (const [client, account] of this.#accounts) if (!isWaiting(account) && account.start <= this.#now) this.#accounts.delete(client)
  }

  #accountOf(client: string): Account<Item> {
    const known = this.#accounts.get(client)
    if (known) {
      if (!isWaiting(known)) known.start = Math.max(known.start, this.#now)
      return known
    }
    const opened = { waiting: { question: new Set<Item>(), long: new Set<Item>(), bulk: new Set<Item>() }, start: this.#now }
    this.#accounts.set(client, opened)
    return opened
  }
}

function isWaiting({ waiting }: Account<unknown>): boolean {
  return LANES.some((lane) => waiting[lane].size > 0)
}
