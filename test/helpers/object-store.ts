import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { configureStores } from '../../index/store/object-store/settings.ts'
import { SKIPS } from './skips.ts'

/**
 * An S3 server of moto (PyPI, `moto[server]`; a Python that has it is named by TEST_S3_PYTHON), behind a proxy that injects
 * faults. The proxy passes on one write at a time: moto answers in threads and looks at a condition and writes in two steps.
 */
const PYTHON = process.env['TEST_S3_PYTHON'] ?? 'python3'
const BUCKET = 'cepe-test'
const CREDENTIALS = { accessKeyId: 'a-key-of-this-test', secretAccessKey: 'a-secret-of-this-test' }

/** Says why a test of object storage is left out here, or false. */
export const noObjectStore: string | false =
  spawnSync(PYTHON, ['-c', 'import moto.server'], { timeout: 60_000 }).status === 0
    ? false
    : `${SKIPS.objectStore}: pip install 'moto[server]' for ${PYTHON}, or name a Python that has it by TEST_S3_PYTHON`

export interface Fault {
  /** Told of a request before it is passed on. */
  readonly when: (method: string, path: string, headers: IncomingMessage['headers']) => boolean
  /** Requests that it strikes; all of them without. */
  times?: number
  /**
   * lose: passed on, and the connection closed instead of an answer; hang: passed on, and never answered; a number: answered
   * with that status, and not passed on; `ms`: passed on after a while; `strip`: passed on without a header; `after`: passed on
   * once something has come about.
   */
  readonly what:
    | 'lose'
    | 'hang'
    | number
    | { readonly ms: number }
    | { readonly strip: string }
    | { readonly after: () => Promise<unknown> }
}

export interface ObjectStore {
  /** A fresh address in the bucket. */
  address(): string
  readonly endpoint: string
  /** What a process needs to reach it. */
  readonly env: Readonly<Record<string, string>>
  readonly faults: Fault[]
  /** Every request from now on finds nobody, until it is true again. */
  reachable: boolean
  /** Requests so far, by method. */
  readonly requests: Map<string, number>
}

/** Starts a proxy for a test before the server of this process, and lets the process use it. */
export async function startObjectStore(t: Test, { answerMs = 3000 } = {}): Promise<ObjectStore> {
  const port = await (server ??= startServer())
  const faults: Fault[] = []
  const requests = new Map<string, number>()
  let turn: Promise<unknown> = Promise.resolve()
  const proxy = createServer((req, res) => {
    const method = req.method ?? 'GET'
    requests.set(method, (requests.get(method) ?? 0) + 1)
    const body = req.toArray() as Promise<Buffer[]>
    if (!store.reachable) return void req.socket.destroy()
    const fault = faults.find(({ when, times = Infinity }) => times > 0 && when(method, req.url ?? '', req.headers))
    if (fault?.times !== undefined) fault.times--
    const pass = async (): Promise<void> => answer({ req, res, body: await body, port }, fault)
    const inOrder = async (): Promise<void> => {
      await (typeof fault?.what === 'object' && 'after' in fault.what ? fault.what.after() : undefined)
      if (method === 'GET' || method === 'HEAD') return pass()
      const mine = turn.then(pass)
      turn = mine.catch(() => undefined)
      return mine
    }
    inOrder().catch(() => req.socket.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const store: ObjectStore = {
    address: () => `s3://${BUCKET}/${randomUUID().slice(0, 8)}/index`,
    endpoint,
    env: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_ALLOW_HTTP: 'true',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    },
    faults,
    reachable: true,
    requests,
  }
  configureStores({ endpoint, region: 'us-east-1', allowHttp: true, credentials: CREDENTIALS, answerMs })
  return store
}

/** Port of the server that the tests of a process share; no two of them use the same address. */
let server: Promise<number> | undefined

async function startServer(): Promise<number> {
  const moto = spawn(PYTHON, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'], { stdio: ['ignore', 'ignore', 'pipe'] })
  process.once('exit', () => moto.kill('SIGKILL'))
  const port = await portOf(moto.stderr)
  await makeBucket(port)
  // Neither it nor its log keeps the process of the tests running.
  moto.unref()
  ;(moto.stderr as Socket).unref()
  return port
}

interface Received {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly body: readonly Buffer[]
  /** Of the store itself. */
  readonly port: number
}

async function answer({ req, res, body, port }: Received, fault: Fault | undefined): Promise<void> {
  const { what } = fault ?? {}
  if (typeof what === 'number') {
    res.writeHead(what, { 'content-type': 'application/xml' })
    res.end('<Error><Code>Injected</Code></Error>')
    return
  }
  if (typeof what === 'object' && 'ms' in what) await sleep(what.ms)
  const { ...headers } = req.headers
  if (typeof what === 'object' && 'strip' in what) delete headers[what.strip]
  const from = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: req.url, method: req.method, headers }, resolve).on('error', reject).end(Buffer.concat(body))
  })
  const content = Buffer.concat((await from.toArray()) as Buffer[])
  if (what === 'hang') return
  if (what === 'lose') return void req.socket.destroy()
  res.writeHead(from.statusCode ?? 502, from.headers)
  res.end(content)
}

async function makeBucket(port: number): Promise<void> {
  const { CreateBucketCommand, S3Client } = await import('@aws-sdk/client-s3')
  const client = new S3Client({ endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', forcePathStyle: true, credentials: CREDENTIALS })
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }))
  client.destroy()
}

/**
 * The port that moto chose. One chosen here could go to another process before moto listens: its requests would then be answered by another
 * test's server, or never.
 */
function portOf(log: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    log.on('data', (part: Buffer) => {
      said += part.toString()
      const port = /Running on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
      if (port === undefined) return
      resolve(Number(port))
      // Its further log is read, since a full pipe would stop it.
      log.removeAllListeners('data').resume()
    })
    log.on('end', () => reject(new Error(`moto did not start: ${said}`)))
  })
}
