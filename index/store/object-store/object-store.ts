import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { CodedError, invalidConfig, onCode } from '../../../base/errors.ts'
import { ageOf } from '../../../base/clock.ts'
import type { Files, Logs, Store, Values } from '../store.ts'
import { storeError } from './errors.ts'
import { checkLeases, readValue, takeLease, writeValue } from './lease.ts'
import { copyObject, deleteBeneath, deleteObject, downloadObject, listNames, listObjects, putObject, readObject } from './objects.ts'
import { lanceStorageOptions } from './settings.ts'

/** Longest wait at the start for a store that accepts requests and does not answer. */
const START_MS = 20_000

/**
 * Checks at the start that the store answers and that the credentials may use the bucket; for writers also that it rejects writes whose
 * condition fails, without which concurrent writers are not safe.
 * @throws config_invalid, store_unavailable
 */
async function checkStore(address: string, { writes }: { readonly writes: boolean }): Promise<void> {
  const waited = sleep(START_MS, undefined, { ref: false }).then(() => {
    throw storeError(new Error(`no answer within ${START_MS / 1000} s`), address)
  })
  await Promise.race([look(address, writes), waited])
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
  const message = `The store of ${address} does not support conditional writes (If-None-Match and If-Match of PUT): concurrent writers would not be safe. Use a store that does; replicas can read from any store.`
  throw invalidConfig('CEPE_INDEX_DIR', message)
}

/** Stored form: renewing a lease changes the object too, so the value contains the time of its last change. */
const StampedSchema = Type.Intersect([Type.Record(Type.String(), Type.Unknown()), Type.Object({ since: Type.String() })])

async function readStamped(address: string): Promise<{ readonly value: unknown; readonly since?: string }> {
  const stored = await readValue(address)
  if (!Value.Check(StampedSchema, stored)) return { value: stored }
  const { since, ...value } = stored
  return { value, since }
}

async function read(address: string): Promise<unknown> {
  return (await readStamped(address)).value
}

async function write(address: string, value: Readonly<Record<string, unknown>>): Promise<void> {
  const before = await readStamped(address)
  const since = isDeepStrictEqual(before.value, value) ? before.since : undefined
  await writeValue(address, { ...value, since: since ?? new Date().toISOString() })
}

/** Each value is an object, changed by conditional writes, that also holds the lease of its lock. */
const objectValues: Values = {
  read,
  write,

  // Under the value's lock, so that no other process creates one in between.
  async create(address, value) {
    if ((await read(address)) !== undefined) return false
    await write(address, value)
    return true
  },

  remove: (address) => writeValue(address, null),

  async age(address) {
    const { since } = await readStamped(address)
    return since === undefined ? Infinity : ageOf(Date.parse(since))
  },
}

/** Maximum clock difference between a store and this machine. */
const CLOCK_MS = 60_000

/** Objects as files: a folder is a common prefix of names. */
const objectFiles: Files = {
  makeFolder: () => Promise.resolve(),
  list: listNames,

  async *walk(dir, most) {
    for await (const { name, bytes } of listObjects(dir, most)) yield { name, bytes, shared: false }
  },

  async age(path) {
    let newest = (await readObject(path))?.modified?.getTime() ?? -Infinity
    for await (const { modified } of listObjects(path)) newest = Math.max(newest, modified.getTime())
    return newest === -Infinity ? Infinity : ageOf(newest) - CLOCK_MS
  },

  identity: (dir) => Promise.resolve(dir),

  async read(path, encoding) {
    return (await readObject(path, encoding))?.text
  },

  async write(path, text) {
    await putObject(path, text)
  },

  remove: deleteObject,
  removeTree: deleteBeneath,

  rename: (from) =>
    Promise.reject(
      new CodedError(
        'unsupported',
        `${from} is in an object store, which cannot rename: write a copy, and a record of its completeness last.`,
      ),
    ),

  async copy(from, to, { bytes }) {
    const isAbsent = onCode(['not_found'], () => false)
    return copyObject(from, to, bytes).then(() => true, isAbsent)
  },

  download: downloadObject,
}

function listAddress(folder: string, name: string): string {
  return `${folder}/lists/${name}`
}

function entriesAddress(folder: string, name: string): string {
  return `${folder}/entries/${name}`
}

/** Each entry is an object: `<folder>/lists/<name>` marks an open log, `<folder>/entries/<name>/` has its entries. */
const objectLogs: Logs = {
  names: (folder) => listNames(`${folder}/lists`),

  async begin(folder, name) {
    await putObject(listAddress(folder, name), '{}', { absent: true })
  },

  async end(folder, name) {
    await deleteObject(listAddress(folder, name))
    await deleteBeneath(entriesAddress(folder, name))
  },

  async append(folder, name, entry) {
    await putObject(`${entriesAddress(folder, name)}/${randomUUID()}`, entry)
  },

  reader(folder, name) {
    const [at, known] = [entriesAddress(folder, name), new Set<string>()]
    return async () => {
      const texts: string[] = []
      for await (const entry of listObjects(at)) {
        if (known.has(entry.name)) continue
        const object = await readObject(`${at}/${entry.name}`)
        known.add(entry.name)
        if (object !== undefined) texts.push(object.text)
      }
      return texts
    }
  },
}

/** An index in an object store of the S3 protocol. */
export const objectStore: Store = {
  keepsFiles: false,
  renames: false,
  durable: true,
  slowReads: true,
  locksCanBeLost: true,
  join: (dir, ...names) => [dir, ...names].join('/'),
  resolve: (_base, location) => location,
  check: checkStore,
  freeBytes: () => Promise.resolve(Infinity),
  lanceOptions: lanceStorageOptions,
  files: objectFiles,
  values: objectValues,
  locks: { take: takeLease, of: (value) => value, check: checkLeases },
  logs: objectLogs,
  // Heartbeats would cost requests: a process protects its own reads only, and others keep replaced files for a limited time.
  marks: { put: () => Promise.resolve(() => Promise.resolve()), list: () => Promise.resolve([]) },
}
