/** Health of the parts of the service, for readiness and metrics. */
import { setTimeout as delay } from 'node:timers/promises'
import { allModels } from '../../index/contract.ts'
import { counted, sum } from '../../base/at.ts'
import type { PassageIndex } from '../../index/open.ts'
import type { ReplicaCache } from '../../index/replica/replica-cache.ts'
import { messageOf } from '../../base/errors.ts'
import type { ReadinessCheck } from '../http/routes/context.ts'
import type { ProcessStatus } from '../http/observability/metrics.ts'
import type { Embedder, Embedders } from '../inference/contract.ts'
import { totalCounts } from '../inference/protocol.ts'
import type { Supervised } from '../inference/pool/models/process-options.ts'
import type { Keys } from '../keys/keys.ts'
import type { TestQuestion } from '../rag/test-question.ts'
import type { Part } from './parts.ts'

/** Detail of a service that still serves a replaced table. */
const BEFORE = 'serving the previous table'

function processStatus(role: string, supervised: readonly Supervised[]): ProcessStatus {
  const pools = supervised.map((pool) => pool.status())
  const children = pools.flatMap((pool) => pool.children)
  const caches = children.flatMap(({ cache }) => cache ?? [])
  return {
    role,
    queued: sum(pools.flatMap(({ queued }) => [queued.question, queued.long, queued.bulk])),
    busy: sum(pools.map(({ busy }) => busy)),
    ready: sum(pools.map(({ ready }) => ready)),
    restarts: sum(pools.map(({ restarts }) => restarts)),
    rssBytes: sum(children.map(({ rssBytes }) => rssBytes)),
    ...(caches.length > 0 && { cache: totalCounts(caches) }),
  }
}

/** Ready while one process of the pool is. */
function processCheck(name: string, process: Supervised): ReadinessCheck {
  const { ready, restarts, lastError } = process.status()
  return { name, ok: ready > 0, detail: lastError ?? `${ready} ready, ${restarts} restarts` }
}

/** Always ready: the replica answers from its copy. */
function storeCheck(replicaCache: ReplicaCache): ReadinessCheck {
  const { trouble, refused, checkedAt } = replicaCache.status()
  const since = checkedAt === undefined ? 'never reached' : `last reached ${checkedAt.toISOString()}`
  const upToDate = refused === undefined ? 'the replica cache is up to date' : `${BEFORE}: ${refused.message}`
  return { name: 'store', ok: true, detail: trouble === undefined ? upToDate : `${trouble} (${since})` }
}

/** Always ready: unreadable keys keep their last state, and one damaged file must not take every replica out of service. Names no key. */
function keysCheck({ unreadable }: Pick<Keys, 'unreadable'>): ReadinessCheck {
  const trouble = `${unreadable} cannot be read and count as before: the log names them`
  return { name: 'keys', ok: true, detail: unreadable === 0 ? 'up to date' : trouble }
}

/** A store that hangs must not keep a probe waiting. */
const INDEX_MS = 15_000

/** Ready if there is a searchable table without damage, even if a newer one cannot be searched, in a folder that can be written to. */
async function indexCheck(index: PassageIndex): Promise<ReadinessCheck> {
  const look = async (): Promise<string> => {
    const at = await index.check()
    const { table, passages, version } = await (await index.view()).version()
    const behind = index.behind()
    const rolledBack = at ? `; rolled back at ${at.toISOString()} to the version before an incomplete one (see _quarantine)` : ''
    const detail = `table ${table}, version ${version}, ${counted(passages, 'passage')}${rolledBack}`
    return behind === undefined ? detail : `${detail}; ${BEFORE}: ${behind.message}`
  }
  const late = delay(INDEX_MS, undefined, { ref: false }).then(() => Promise.reject(new Error(`no answer within ${INDEX_MS / 1000} s`)))
  return Promise.race([look(), late]).then(
    (detail) => ({ name: 'index', ok: true, detail }),
    (error: unknown) => ({ name: 'index', ok: false, detail: messageOf(error) }),
  )
}

/** Health of the embedders. Only the one that questions need affects readiness. */
async function embedderChecks(index: PassageIndex, embedders: Embedders<Embedder & Supervised>): Promise<readonly ReadinessCheck[]> {
  const { model: serving } = await index.view().catch(() => index)
  const checks = allModels(index).map(({ id }) => {
    const check = processCheck('embedder', embedders.further?.get(id) ?? embedders.embedder)
    return id === serving.id ? check : { ...check, name: `embedder of ${id}`, ok: true }
  })
  return checks.sort((a, b) => Number(b.name === 'embedder') - Number(a.name === 'embedder'))
}

interface CheckedParts {
  readonly reader?: Supervised | undefined
  readonly reranker?: Supervised | undefined
  readonly embedders?: Embedders<Embedder & Supervised>
  readonly index?: PassageIndex
  readonly test?: TestQuestion | undefined
  readonly replica?: ReplicaCache | undefined
  readonly keys?: Keys
}

/** The health of a service is that of its parts. */
export async function readinessOf(parts: CheckedParts): Promise<readonly ReadinessCheck[]> {
  const { reader, reranker, embedders, index, test, replica, keys } = parts
  return [
    ...(reader ? [processCheck('reader', reader)] : []),
    ...(reranker ? [processCheck('reranker', reranker)] : []),
    ...(index && embedders ? await embedderChecks(index, embedders) : []),
    ...(index ? [await indexCheck(index)] : []),
    ...(test ? [await test.check()] : []),
    ...(replica ? [storeCheck(replica)] : []),
    ...(keys ? [keysCheck(keys)] : []),
  ]
}

/** The processes of a service by role; a role without any is left out. */
export function poolsOf(byRole: Readonly<Record<string, readonly (Supervised | undefined)[]>>) {
  const roles = Object.entries(byRole).map(([role, pools]) => ({ role, pools: pools.filter((pool) => pool !== undefined) }))
  const all = roles.flatMap(({ pools }) => pools)
  return {
    /** Sums a count over all pools on each call. */
    total: (count: 'finished' | 'disruptions') => () => all.reduce((sum, pool) => sum + pool.status()[count], 0),
    status: (): ProcessStatus[] => roles.flatMap(({ role, pools }) => (pools.length === 0 ? [] : processStatus(role, pools))),
    /** The processes with the work that they run, as one part: work stops after its batch, or with its process. */
    with: (stop: () => Promise<unknown>): Part => ({
      close: async ({ drainMs }) => {
        const stopped = stop()
        await Promise.race([stopped, delay(drainMs, undefined, { ref: false })])
        await Promise.all([stopped, ...all.map((pool) => pool.close({ drainMs }))])
      },
    }),
  }
}
