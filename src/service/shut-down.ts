import type { Services } from './services.ts'

/** What ends of the HTTP application. */
export interface Served {
  /** Refuses new requests and waits until the running ones are answered, for `ms` at most. */
  drain(ms: number): Promise<void>
  close(): Promise<unknown>
}

/**
 * Ends the service in order: running requests are answered for `drainMs` at most, those left then get 503, then all is closed. What goes
 * wrong with one part keeps no other from its end.
 * @throws the first error, once all have come to their end
 */
export async function shutDown(app: Served, services: Pick<Services, 'jobs' | 'close'>, drainMs: number): Promise<void> {
  await allEnded([
    // A bulk job stops after its batch and goes on at the next start: there is no reason to wait with it.
    services.jobs.close(),
    app.drain(drainMs).then(() => allEnded([services.close({ drainMs: 0 }), app.close()])),
  ])
}

async function allEnded(ends: readonly Promise<unknown>[]): Promise<void> {
  for (const end of await Promise.allSettled(ends)) if (end.status === 'rejected') throw end.reason
}
