import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '../../../base/errors.ts'
import { storeError } from './errors.ts'
import { deleteObject, listObjects, putObject } from './objects.ts'

/** Longest wait at the start for a store that accepts requests and does not answer. */
const START_MS = 20_000

/**
 * Checks at the start that the store answers and that the credentials may use the bucket; for writers also that it rejects writes whose
 * condition fails, without which concurrent writers are not safe.
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
  // Retried because a client that lost a response repeats the write and then reports a failed condition.
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
