import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { openKeys } from '../../src/keys/keys.ts'
import { addKey } from '../../src/keys/store.ts'
import type { Services } from '../../src/service/services.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { testApp } from './helpers.ts'

/** Keys of the tests: one without bounds, and those of two tenants. */
const KEYS: readonly Parameters<typeof addKey>[1][] = [
  { name: 'ann', role: 'user' },
  { name: 'lee', role: 'user', collections: ['law'] },
  { name: 'meg', role: 'user', collections: ['med', 'passages'] },
  { name: 'root', role: 'admin' },
  { name: 'liz', role: 'admin', collections: ['law'] },
]

/** One passage for each collection, all of the same id. */
export const TEXTS = { passages: 'yes, the common text', law: 'yes, the text of law', med: 'yes, the text of medicine' } as const

/** The application over three collections with a passage each, with keys of two tenants. */
export async function withCollections(t: Test, changes: Partial<Services> = {}, settings: Record<string, unknown> = {}) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-tenants-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const made: Record<string, string> = {}
  for (const one of KEYS) made[one.name] = await addKey(dir, one)
  const keys = await openKeys({ dir, pollMs: 10 })
  t.teardown(() => keys.close())
  const { services: answering, asked } = recordingServices()
  const { app, services } = await testApp(t, { keys, answering, ...changes }, settings)
  const { collections } = services
  for (const [name, text] of Object.entries(TEXTS)) {
    if (name !== 'passages') await collections.create(name)
    const index = await collections.open(name)
    await index.upsert([{ id: 'p1', title: name, text, source: `${name}.txt` }], [Float32Array.of(1, 0)])
  }
  const send = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, key = 'ann', payload?: object | string) =>
    app.inject({
      method,
      url,
      headers: {
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${made[key] ?? key}`,
        ...(payload !== undefined && { 'content-type': typeof payload === 'string' ? 'text/csv' : 'application/json' }),
      },
      ...(payload !== undefined && { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
    })
  return { app, services, collections, asked, send, made }
}
