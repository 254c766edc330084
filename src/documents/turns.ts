import { CodedError } from '../../base/errors.ts'
import { hasShareLeft } from '../../base/fair-share.ts'

const RETRY_AFTER_S = 5

export interface TurnOptions {
  /** Concurrent work. */
  readonly atOnce: number
  /** Limit of waiting work; several clients together may have twice as much. */
  readonly mostWaiting: number
}

/** Runs work of a client under fair scheduling. @throws overloaded */
export type InTurn = <Result>(client: string, work: () => Promise<Result>) => Promise<Result>

/**
 * Shares slots between clients: a free one goes to the client with the fewest; ties to the one served longest ago. When the queue is full,
 * no client may exceed its share of it.
 */
export function createTurns({ atOnce, mostWaiting }: TurnOptions): InTurn {
  /** By client, the one served longest ago first. */
  const clients = new Map<string, { running: number; readonly waiting: (() => void)[] }>()
  let [running, waiting] = [0, 0]

  const start = (): void => {
    if (running >= atOnce) return
    const [next] = [...clients].filter(([, one]) => one.waiting.length > 0).sort(([, a], [, b]) => a.running - b.running)
    if (next === undefined) return
    const [name, client] = next
    const begin = client.waiting.shift()
    clients.delete(name)
    clients.set(name, client)
    client.running++
    running++
    waiting--
    begin?.()
  }

  const checkRoom = (client: string): void => {
    const own = clients.get(client)?.waiting.length ?? 0
    if (hasShareLeft(mostWaiting, { total: waiting, own, clients: clients.size + (clients.has(client) ? 0 : 1) })) return
    throw new CodedError('overloaded', `${waiting} files are queued already. Try again later.`, { retryAfterS: RETRY_AFTER_S })
  }

  return async (name, work) => {
    checkRoom(name)
    const client = clients.get(name) ?? { running: 0, waiting: [] }
    clients.set(name, client)
    waiting++
    await new Promise<void>((resolve) => {
      client.waiting.push(resolve)
      start()
    })
    try {
      return await work()
    } finally {
      running--
      client.running--
      if (client.running + client.waiting.length === 0) clients.delete(name)
      start()
    }
  }
}
