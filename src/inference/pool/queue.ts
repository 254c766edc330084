/**
 * Work that waits. `question`: one run that nothing can interrupt. `long`: many steps, between which others come in.
 * `bulk`: work that nobody waits for at the screen; it goes when no question does.
 */
export const LANES = ['question', 'long', 'bulk'] as const
export type Lane = (typeof LANES)[number]

/** What sharing needs to know of an entry. */
export interface Share {
  readonly lane: Lane
  /** Who asks; opaque. */
  readonly client: string
  /** Work, in any unit that is the same for all. */
  readonly cost: number
}

export interface FairQueue<Entry extends Share> {
  push(entry: Entry): void
  /** The entry of a lane whose turn it is, taken out. */
  shift(lane: Lane): Entry | undefined
  /** Takes one entry out wherever it stands; false where it does not wait. */
  remove(entry: Entry): boolean
  /** Takes everything out. */
  clear(): Entry[]
  size(lane: Lane): number
}

interface Account<Entry> {
  /** Sets keep insertion order and let an abandoned entry leave in constant time. */
  readonly waiting: Readonly<Record<Lane, Set<Entry>>>
  /** Virtual time at which the client's next entry starts: where its last one ended, or the time of its arrival. */
  start: number
}

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, 1996): clients that wait are served work in equal parts, whatever
 * the size and number of what they send; the entries of one client and lane are first come, first served.
 */
export function createFairQueue<Entry extends Share>(): FairQueue<Entry> {
  const accounts = new Map<string, Account<Entry>>()
  const sizes: Record<Lane, number> = { question: 0, long: 0, bulk: 0 }
  /** Start of the entry last served. */
  let now = 0

  const isWaiting = ({ waiting }: Account<Entry>): boolean => LANES.some((lane) => waiting[lane].size > 0)

  /** Accounts that are square with the time say nothing that a new one would not. */
  const forgetIdle = (): void => {
    for (const [client, account] of accounts) if (!isWaiting(account) && account.start <= now) accounts.delete(client)
  }

  const accountOf = (client: string): Account<Entry> => {
    const known = accounts.get(client)
    if (known) {
      if (!isWaiting(known)) known.start = Math.max(known.start, now)
      return known
    }
    const opened = { waiting: { question: new Set<Entry>(), long: new Set<Entry>(), bulk: new Set<Entry>() }, start: now }
    accounts.set(client, opened)
    return opened
  }

  return {
    push: (entry) => {
      accountOf(entry.client).waiting[entry.lane].add(entry)
      sizes[entry.lane]++
    },
    shift: (lane) => {
      let next: Account<Entry> | undefined
      for (const account of accounts.values()) {
        if (account.waiting[lane].size > 0 && (next === undefined || account.start < next.start)) next = account
      }
      if (next === undefined) return undefined
      for (const entry of next.waiting[lane]) {
        next.waiting[lane].delete(entry)
        sizes[lane]--
        now = Math.max(now, next.start)
        next.start += entry.cost
        forgetIdle()
        return entry
      }
      return undefined
    },
    remove: (entry) => {
      const removed = accounts.get(entry.client)?.waiting[entry.lane].delete(entry) === true
      if (removed) sizes[entry.lane]--
      return removed
    },
    clear: () => {
      const entries = [...accounts.values()].flatMap(({ waiting }) => LANES.flatMap((lane) => [...waiting[lane]]))
      accounts.clear()
      for (const lane of LANES) sizes[lane] = 0
      return entries
    },
    size: (lane) => sizes[lane],
  }
}
