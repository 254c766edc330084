/**
 * Priority lanes. `question`: one uninterruptible run. `long`: many steps, interleaved with others. `bulk`: background work that runs when
 * no question waits.
 */
export const LANES = ['question', 'long', 'bulk'] as const
export type Lane = (typeof LANES)[number]

/** Properties of an item for fair queueing. */
export interface Share {
  readonly lane: Lane
  /** Opaque client id. */
  readonly client: string
  /** Work in any consistent unit. */
  readonly cost: number
}

export interface FairQueue<Item extends Share> {
  push(item: Item): void
  /** Removes and returns the next item of a lane. */
  shift(lane: Lane): Item | undefined
  /** Removes an item; false if it does not wait. */
  remove(item: Item): boolean
  /** Removes and returns all items. */
  clear(): Item[]
  size(lane: Lane): number
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
export function createFairQueue<Item extends Share>(): FairQueue<Item> {
  const accounts = new Map<string, Account<Item>>()
  const sizes: Record<Lane, number> = { question: 0, long: 0, bulk: 0 }
  /** Virtual start time of the item last served. */
  let now = 0

  const isWaiting = ({ waiting }: Account<Item>): boolean => LANES.some((lane) => waiting[lane].size > 0)

  /** Accounts without a debt equal new ones and are dropped. */
  const forgetIdle = (): void => {
    for (const [client, account] of accounts) if (!isWaiting(account) && account.start <= now) accounts.delete(client)
  }

  const accountOf = (client: string): Account<Item> => {
    const known = accounts.get(client)
    if (known) {
      if (!isWaiting(known)) known.start = Math.max(known.start, now)
      return known
    }
    const opened = { waiting: { question: new Set<Item>(), long: new Set<Item>(), bulk: new Set<Item>() }, start: now }
    accounts.set(client, opened)
    return opened
  }

  return {
    push: (item) => {
      accountOf(item.client).waiting[item.lane].add(item)
      sizes[item.lane]++
    },
    shift: (lane) => {
      let next: Account<Item> | undefined
      for (const account of accounts.values()) {
        if (account.waiting[lane].size > 0 && (next === undefined || account.start < next.start)) next = account
      }
      if (next === undefined) return undefined
      for (const item of next.waiting[lane]) {
        next.waiting[lane].delete(item)
        sizes[lane]--
        now = Math.max(now, next.start)
        next.start += item.cost
        forgetIdle()
        return item
      }
      return undefined
    },
    remove: (item) => {
      const removed = accounts.get(item.client)?.waiting[item.lane].delete(item) === true
      if (removed) sizes[item.lane]--
      return removed
    },
    clear: () => {
      const items = [...accounts.values()].flatMap(({ waiting }) => LANES.flatMap((lane) => [...waiting[lane]]))
      accounts.clear()
      for (const lane of LANES) sizes[lane] = 0
      return items
    },
    size: (lane) => sizes[lane],
  }
}
