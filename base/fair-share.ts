/**
 * Whether a client may take one more slot: any client up to `most` in total, clients below their share of `most` up to twice as many.
 * @param held slots taken in total and by the client, and clients that hold some, including this one
 */
export function hasShareLeft(most: number, { total, own, clients }: Readonly<Record<'total' | 'own' | 'clients', number>>): boolean {
  return total < most || (total < 2 * most && own < most / clients)
}

/** @param most slots that a single client may use; several together may use up to twice as many */
export function createSharedSlots(most: number) {
  const clients = new Map<string, number>()
  let taken = 0
  return {
    get taken() {
      return taken
    },
    /** @returns a function that releases the slot, to be called once; undefined if none is available to the client */
    take: (client: string) => {
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
