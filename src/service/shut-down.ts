import type { Services } from './services.ts'

/** The parts of the HTTP application to shut down. */
export interface Served {
  /** Rejects new requests and waits for running ones, for `ms` at most. */
  drain(ms: number): Promise<void>
  close(): Promise<unknown>
}

/**
 * Graceful shutdown: running requests have up to `drainMs`, the rest gets 503, then everything is closed. An error in one part does not
 * prevent closing the others.
 * @throws the first error, after all have been closed
 */
export async function shutDown(app: Served, services: Pick<Services, 'jobs' | 'close'>, drainMs: number): Promise<void> {
  await allEnded([
    // A bulk job stops after its batch and resumes at the next start, so it is not waited for.
    services.jobs.close(),
    app.drain(drainMs).then(() => allEnded([services.close({ drainMs: 0 }), app.close()])),
  ])
}

async function allEnded(ends: readonly Promise<unknown>[]): Promise<void> {
  for (const end of await Promise.allSettled(ends)) if (end.status === 'rejected') throw end.reason
}
