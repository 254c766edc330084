/** How the parts of the service are: for readiness and for metrics. */
import type { PassageIndex } from '../index/open.ts'
import type { Mirror } from '../index/table/mirror.ts'
import { messageOf } from '../base/errors.ts'
import type { ReadinessCheck } from './http/routes/health.ts'
import type { ProcessStatus } from './http/work-metrics.ts'
import type { PoolStatus } from './inference/pool/contract.ts'
import type { Supervised } from './inference/pool/process-options.ts'

export function processStatus(role: string, { queued, busy, ready, restarts, children }: PoolStatus): ProcessStatus {
  const caches = children.flatMap(({ cache }) => cache ?? [])
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return {
    ...{ role, queued: queued.question + queued.long + queued.bulk, busy, ready, restarts },
    rssBytes: sum(children.map(({ rssBytes }) => rssBytes)),
    ...(caches.length > 0 && {
      cache: {
        hits: sum(caches.map(({ hits }) => hits)),
        misses: sum(caches.map(({ misses }) => misses)),
        bytes: sum(caches.map(({ bytes }) => bytes)),
      },
    }),
  }
}

export function processCheck(name: string, process: Supervised): Promise<ReadinessCheck> {
  const { ready, restarts, lastError } = process.status()
  return Promise.resolve({ name, ok: ready > 0, detail: lastError ?? `${ready} ready, ${restarts} restarts` })
}

/** Always ready: what the replica has, it answers from. */
export function storeCheck(mirror: Mirror): Promise<ReadinessCheck> {
  const { trouble, checkedAt } = mirror.status()
  const since = checkedAt === undefined ? 'never reached' : `last reached ${checkedAt.toISOString()}`
  return Promise.resolve({ name: 'store', ok: true, detail: trouble === undefined ? 'the copy is up to date' : `${trouble} (${since})` })
}

export function indexCheck(index: PassageIndex): Promise<ReadinessCheck> {
  return index.info().then(
    ({ table, rows, version }) => ({ name: 'index', ok: true, detail: `table ${table}, version ${version}, ${rows} passages` }),
    (error: unknown) => ({ name: 'index', ok: false, detail: messageOf(error) }),
  )
}
