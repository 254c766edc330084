import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { contentHash } from '../../index/hash.ts'
import type { Passage } from '../../index/contract.ts'
import { toTsv } from '../jobs/helpers.ts'
import { runCli } from './cli.ts'
import { noObjectStore, type ObjectStore } from './object-store.ts'
import { storedRows } from './stored-rows.ts'

export const KEY = 'an-admin-key-of-this-test'

/** Where there is a server: else why a test is left out. */
export const WITH_STORE = { skip: noObjectStore, timeout: 380_000 }

export async function folderOf(t: Test): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-object-store-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

/** Settings of a process whose index is there. */
export function settingsOf(store: ObjectStore, dir: string, address: string) {
  return {
    ...store.env,
    CEPE_READER_CHECKPOINT: 'models/tiny/checkpoint/cepe',
    CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
    CEPE_READER_DIR: path.join(dir, 'reader'),
    CEPE_RETRIEVER_DIR: path.join(dir, 'retriever'),
    CEPE_INDEX_DIR: address,
    CEPE_JOBS_DIR: path.join(dir, 'jobs'),
    CEPE_CORPUS: '',
    CEPE_ADMIN_KEY: KEY,
    CEPE_LOG_LEVEL: 'silent',
    CEPE_THREADS: '1',
  }
}

/** What `storedRows` gives of passages. */
export function rowsOf(passages: readonly Passage[], source: string): string[] {
  return passages.map((passage) => `${passage.id} ${contentHash({ ...passage, source })}`).sort()
}

export async function rowsAt(address: string): Promise<string[]> {
  return (await storedRows(address)).map(([row]) => row)
}

export interface Corpus {
  readonly dir: string
  readonly env: Record<string, string>
  readonly name: string
  readonly passages: readonly Passage[]
}

/** Plans a corpus and has it embedded. @returns the place */
export async function prepared(t: Test, { dir, env, name, passages }: Corpus): Promise<string> {
  const [corpus, place] = [path.join(dir, `${name}.tsv`), path.join(dir, name)]
  await writeFile(corpus, toTsv(passages))
  t.match(await runCli(['index', 'plan', corpus, '--out', place, '--shard-rows', '25'], env), { code: 0 })
  const { stdout } = await runCli(['index', 'pending', place], env)
  const worker = spawn(process.execPath, ['dist/src/cli.js', 'embed-worker', place], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  worker.stdin.end(stdout)
  const [code] = (await once(worker, 'close')) as [number]
  t.equal(code, 0)
  return place
}
