import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '../../../base/errors.ts'
import { storeError } from './errors.ts'
import { deleteObject, listObjects, putObject } from './objects.ts'

/** Longest that a start waits for a store that takes requests and answers none. */
const START_MS = 20_000

/**
 * Finds out at the start what would go wrong later: whether the store answers, and these credentials may use the bucket; for
 * who writes, also whether it refuses writes whose condition does not hold, without which two writers could not be kept apart.
 * @throws config_invalid, store_unavailable
 */
export async function checkStore(address: string, { writes }: { readonly writes: boolean }): Promise<void> {
  const late = new AbortController()
  const looked = look(address, writes).finally(() => late.abort())
  const waited = sleep(START_MS, undefined, { signal: late.signal }).then(
    () => {
      throw storeError(new Error(`no answer within ${START_MS / 1000} s`), address)
    },
    () => undefined,
  )
  await Promise.race([looked, waited.then(() => looked)])
}

async function probe(object: string): Promise<'heeds' | 'ignores' | 'unclear'> {
  try {
    const first = await putObject(object, '{}', { absent: true })
    const again = await putObject(object, '{"again": true}', { absent: true })
    const stale = await putObject(object, '{"stale": true}', { etag: '"00000000000000000000000000000000"' })
    if (again !== undefined || stale !== undefined) return 'ignores'
    const next = first === undefined ? undefined : await putObject(object, '{"next": true}', { etag: first })
    return next === undefined ? 'unclear' : 'heeds'
  } finally {
    await deleteObject(object).catch(() => undefined)
  }
}

async function look(address: string, writes: boolean): Promise<void> {
  for await (const _ of listObjects(address, 1)) break
  if (!writes) return
  // Again where an answer was lost, after which a write that was done is said not to have been.
  for (let attempt = 1; attempt <= 3; attempt++) {
    const found = await probe(`${address}/probe.${randomUUID()}.json`)
    if (found === 'heeds') return
    if (found === 'ignores') break
  }
  throw new CodedError(
    'config_invalid',
    `The store of ${address} does not support conditional writes (If-None-Match and If-Match of PUT): concurrent writers would not be safe. Use a store that does; replicas can read from any store.`,
    { field: 'CEPE_INDEX_DIR' },
  )
}
