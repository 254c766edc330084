/** What is held of a resource that clients share. */
export interface Held {
  /** Held in all. */
  readonly total: number
  /** Held by the client that asks for one more. */
  readonly own: number
  /** Clients that hold some, that one included. */
  readonly clients: number
}

/** Whether a client may hold one more: up to `most` in all anyone may, up to twice as many those who hold less than their share of `most`. */
export function hasShareLeft(most: number, { total, own, clients }: Held): boolean {
  return total < most || (total < 2 * most && own < most / clients)
}

/** Places that clients share. */
export interface SharedPlaces {
  /** Places that are taken. */
  readonly taken: number
  /** @returns what gives the place back, to be called once; undefined where the client gets none */
  take(client: string): (() => void) | undefined
}

/** @param most places that one client may take while there is no other; several together take up to twice as many. */
export function createSharedPlaces(most: number): SharedPlaces {
  const clients = new Map<string, number>()
  let taken = 0
  return {
    get taken() {
      return taken
    },
    take: (client) => {
      const own = clients.get(client) ?? 0
      if (!hasShareLeft(most, { total: taken, own, clients: clients.size + (own === 0 ? 1 : 0) })) return undefined
      clients.set(client, own + 1)
      taken++
      return () => {
        taken--
        const left = (clients.get(client) ?? 0) - 1
        if (left > 0) clients.set(client, left)
        else clients.delete(client)
      }
    },
  }
}
