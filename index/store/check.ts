import { randomUUID } from 'node:crypto'
import { CodedError } from '../../base/errors.ts'
import { deleteObject, listObjects, putObject } from './objects.ts'

/**
 * Finds out at the start what would go wrong later: whether the store answers, and these credentials may use the bucket; for
 * who writes, also whether it refuses writes whose condition does not hold, without which two writers could not be kept apart.
 * @throws config_invalid, store_unavailable
 */
export async function checkStore(address: string, { writes }: { readonly writes: boolean }): Promise<void> {
  for await (const _ of listObjects(address, 1)) break
  if (!writes) return
  const probe = `${address}/probe.${randomUUID()}.json`
  try {
    const first = await putObject(probe, '{}', { absent: true })
    const again = await putObject(probe, '{"again": true}', { absent: true })
    const stale = await putObject(probe, '{"stale": true}', { etag: '"00000000000000000000000000000000"' })
    const next = first === undefined ? undefined : await putObject(probe, '{"next": true}', { etag: first })
    if (first !== undefined && again === undefined && stale === undefined && next !== undefined) return
  } finally {
    await deleteObject(probe).catch(() => undefined)
  }
  throw new CodedError(
    'config_invalid',
    `The store of ${address} does not heed conditional writes (If-None-Match and If-Match of PUT): two writers could not be kept apart. Use one that does; replicas read from any.`,
    { field: 'CEPE_INDEX_DIR' },
  )
}
