import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

export interface Answer {
  readonly status: number
  readonly json: { readonly error?: { readonly code: string; readonly message: string }; readonly [name: string]: unknown }
}

/** A service in a process of its own over the index in `dir`. */
export async function served(t: Test, dir: string, descriptors = '') {
  const script = fileURLToPath(new URL('service-process.js', import.meta.url))
  const command = descriptors === '' ? 'exec "$@"' : `ulimit -n ${descriptors}; exec "$@"`
  const child = spawn('bash', ['-c', command, 'bash', process.execPath, script, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const url = String((await lines.next()).value)
  const call = async (method: string, path: string, body?: object | string): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: 'Bearer a-key-for-tests-only',
        ...(body === undefined ? {} : { 'content-type': typeof body === 'string' ? 'text/tab-separated-values' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Answer['json'] }
  }
  /** Tells the process to take all its descriptors, or to give them back. */
  const tell = async (what: string): Promise<void> => {
    child.stdin.write(`${what}\n`)
    await lines.next()
  }
  const end = async (): Promise<void> => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  return { call, tell, end }
}

export type Call = Awaited<ReturnType<typeof served>>['call']

export const put = (call: Call, id: string): Promise<Answer> =>
  call('PUT', '/v1/passages', { passages: [{ id, title: '', text: `Text of ${id}.` }] })
export const TSV = 'id\ttext\ttitle\nj1\tone more\tT\n'

/** Every change of the index, by name. */
export const CHANGES: Readonly<Record<string, (call: Call) => Promise<Answer>>> = {
  'put passages': (call) => put(call, 'new'),
  'delete a passage': (call) => call('DELETE', '/v1/passages/kept'),
  'delete by filter': (call) => call('POST', '/v1/passages/delete', { filter: { id: 'kept' } }),
  'an upload': (call) => call('POST', '/v1/admin/index-jobs', TSV),
  'an import': (call) => call('POST', '/v1/admin/index-jobs', { source: 'more.tsv' }),
  'put passages of a collection': (call) =>
    call('PUT', '/v1/passages?collection=other', { passages: [{ id: 'x', title: '', text: String(Math.random()) }] }),
  'a new collection': (call) => call('PUT', '/v1/collections/fresh'),
  'a copy': (call) => call('PUT', '/v1/collections/copied?copy_of=other'),
  'delete a collection': (call) => call('DELETE', '/v1/collections/other'),
}

/** The same with a passage, and a collection with one. */
export async function filled(t: Test, dir: string, descriptors?: string) {
  await mkdir(join(dir, 'import'), { recursive: true })
  await writeFile(join(dir, 'import', 'more.tsv'), TSV)
  const service = await served(t, dir, descriptors)
  t.match(await put(service.call, 'kept'), { status: 200, json: { upserted: 1 } })
  t.match(await service.call('PUT', '/v1/collections/other'), { status: 201 })
  t.match(await CHANGES['put passages of a collection']?.(service.call), { status: 200 })
  t.match(await service.call('GET', '/readyz'), { status: 200 })
  return service
}
