import { createHash } from 'node:crypto'
import { open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, diskFull, osCode } from '../../base/errors.ts'
import { isDiskFull } from '../../base/failures.ts'
import { fileBytes } from '../../base/files.ts'
import { invalid } from '../errors.ts'
import { hubError, type Hub, type HubFile } from './hub.ts'

/** Consecutive attempts without a received byte. */
const ATTEMPTS = 6
const FIRST_PAUSE_MS = 500
/** Timeout of a silent connection. */
const SILENCE_MS = 30_000

interface FetchOptions {
  readonly hub: Hub
  readonly repository: string
  readonly commit: string
  /** Target path; existing bytes are kept. */
  readonly target: string
  readonly onBytes: (bytes: number) => void
  /** Pause after a first failure, doubled after each; default 500. */
  readonly pauseMs?: number | undefined
}

/**
 * Downloads one file: resumes from existing bytes, retries broken connections, and verifies the checksum.
 * @throws CodedError hub_unreachable after several attempts without a byte; checkpoint_invalid for content that differs from the hub's
 * checksum, which is deleted; not_found and forbidden
 */
export async function fetchFile(file: HubFile, options: FetchOptions): Promise<void> {
  const { target, onBytes, pauseMs = FIRST_PAUSE_MS } = options
  let have = await sizeOf(target)
  if (have > file.size) {
    await rm(target)
    have = 0
  }
  onBytes(have)
  for (let failures = 0; have < file.size;) {
    const before = have
    const problem = await appendOnce(file, have, options).catch((error: unknown) => error)
    have = await sizeOf(target)
    if (have === file.size) break
    if (problem instanceof CodedError) throw problem
    const message = `The disk of ${dirname(target)} is full; ${file.path} is kept as far as it came. Make room and repeat the command.`
    if (isDiskFull(problem)) throw diskFull(file.path, message)
    // Not the hub's: its errors have no code themselves.
    if (osCode(problem) !== undefined) throw problem
    failures = have > before ? 0 : failures + 1
    if (failures >= ATTEMPTS) throw hubError(options.repository, options.commit, undefined, problem ?? new Error('the connection broke'))
    await sleep(pauseMs * 2 ** failures)
  }
  if (file.size === 0) await (await open(target, 'a')).close()
  await check(file, target)
}

/** Sends one request and appends its body to the file. */
async function appendOnce(file: HubFile, have: number, { hub, repository, commit, target, onBytes }: FetchOptions): Promise<void> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  const path = file.path.split('/').map(encodeURIComponent).join('/')
  try {
    const response = await fetch(`${hub.url}/${repository}/resolve/${commit}/${path}`, {
      headers: { ...(hub.token !== null && { authorization: `Bearer ${hub.token}` }), ...(have > 0 && { range: `bytes=${have}-` }) },
      signal: silence.signal,
    })
    if (response.status === 401 || response.status === 403 || response.status === 404) throw hubError(repository, commit, response.status)
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`)
    // A server without range support sends the whole file again.
    const whole = have > 0 && response.status !== 206
    await using output = await open(target, whole ? 'w' : 'a')
    if (whole) onBytes(-have)
    let left = file.size - (whole ? 0 : have)
    for await (const chunk of response.body) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      await output.writeFile(chunk as Uint8Array)
      onBytes((chunk as Uint8Array).length)
      left -= (chunk as Uint8Array).length
      // More than the hub announced, without end perhaps: the checksum refuses it.
      if (left < 0) break
    }
    await output.sync()
  } finally {
    clearTimeout(timer)
  }
}

async function check({ path, size, sha256, blob }: HubFile, target: string): Promise<void> {
  // Git's blob id: the SHA-1 of a header and the content.
  const hash = sha256 === null ? createHash('sha1').update(`blob ${size}\0`) : createHash('sha256')
  for await (const chunk of fileBytes(target, 1 << 20)) hash.update(chunk)
  if (hash.digest('hex') === (sha256 ?? blob)) return
  await rm(target)
  throw invalid(`${path} came damaged: its checksum is not the hub's. It was deleted; repeat the command.`, path)
}

/** Bytes of a file; 0 if it does not exist. */
export async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0
}
