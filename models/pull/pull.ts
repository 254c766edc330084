import { lstat, readFile, rename, rm, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sizeText } from '../../base/at.ts'
import { makeFolder, writeFileDurably } from '../../base/durable.ts'
import { conflict, diskFull, invalidRequest } from '../../base/errors.ts'
import { takeLock, whileHeld } from '../../base/locks/lock.ts'
import { unsupported } from '../errors.ts'
import { fetchFile, sizeOf } from './fetch-file.ts'
import { commitOf, filesOf, type Hub, type HubFile } from './hub.ts'

/** Names in the folder of an unfinished pull: a file that names its commit, its files, and its lock. */
const [STATE_FILE, FILES, LOCK] = ['pull.json', 'files', 'lock']
/** Free space to keep in addition to the download. */
const SPARE_BYTES = 64 * 2 ** 20

const PLAIN = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'tokenizer.model',
  'added_tokens.json',
  'vocab.txt',
  'qa_config.json',
  // Files of sentence-transformers: how vectors are computed.
  'modules.json',
  '1_Pooling/config.json',
  'config_sentence_transformers.json',
  'sentence_bert_config.json',
]
const WEIGHTS = [
  { single: 'model.safetensors', index: 'model.safetensors.index.json', shard: /^model-\d+-of-\d+\.safetensors$/ },
  { single: 'pytorch_model.bin', index: 'pytorch_model.bin.index.json', shard: /^pytorch_model-\d+-of-\d+\.bin$/ },
] as const

/**
 * Selects the files that a build reads: configuration, tokenizer, and the weights in one form, preferring safetensors.
 * @throws unsupported for a repository without config.json or weights
 */
function chooseFiles(repository: string, files: readonly HubFile[]): readonly HubFile[] {
  const named = new Map(files.map((file) => [file.path, file]))
  const of = (paths: readonly string[]): HubFile[] => paths.flatMap((path) => named.get(path) ?? [])
  if (!named.has('config.json'))
    throw unsupported(`${repository} has no config.json: it is no checkpoint in Hugging Face layout`, 'config.json')
  for (const { single, index, shard } of WEIGHTS) {
    if (named.has(single)) return [...of(PLAIN), ...of([single])]
    if (named.has(index)) return [...of(PLAIN), ...of([index]), ...files.filter(({ path }) => shard.test(path))]
  }
  throw unsupported(`${repository} has neither model.safetensors nor pytorch_model.bin, whole or in shards`, 'model.safetensors')
}

interface PullOptions {
  readonly hub: Hub
  /** `owner/name` */
  readonly repository: string
  /** Branch, tag or commit. */
  readonly revision: string
  /** Folder, created when everything is complete. */
  readonly outDir: string
  readonly onProgress?: (progress: { readonly done: number; readonly total: number; readonly name: string }) => void
  readonly onWarning?: (message: string) => void
  /** As in fetchFile. */
  readonly pauseMs?: number
}

/**
 * Downloads the files that a build needs from a Hugging Face hub. They are stored in a temporary folder next to outDir, and become
 * outDir when the last one is verified; an interrupted pull resumes.
 * @throws CodedError invalid_request for an invalid name; conflict if outDir exists; disk_full before the first byte if they do not fit;
 * not_found, forbidden, hub_unreachable, checkpoint_invalid, unsupported
 * @example
 * ```ts
 * import { pullCheckpoint } from './models/pull/pull.ts'
 * import { hubSettings } from './src/config.ts'
 *
 * await pullCheckpoint({ hub: hubSettings(), repository: 'hyen/CEPE-LLaMA-2-7B', revision: 'main', outDir: 'CEPE-LLaMA-2-7B' })
 * ```
 */
export async function pullCheckpoint(options: PullOptions) {
  const { hub, repository, revision, onProgress = () => undefined, onWarning = () => undefined, pauseMs } = options
  const outDir = resolve(options.outDir)
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
    throw invalidRequest('name', `${JSON.stringify(repository)} names no model; give owner/name, as in hyen/CEPE-LLaMA-2-7B.`)
  // A link whose target is missing cannot be replaced either.
  if (await lstat(outDir).catch(() => undefined))
    throw conflict('--out', `${outDir} exists already; choose another folder with --out, or remove it.`)
  const commit = await commitOf(hub, repository, revision)
  const files = chooseFiles(repository, await filesOf(hub, repository, commit))
  const staging = `${outDir}.partial`
  const total = files.reduce((sum, { size }) => sum + size, 0)
  const isComplete = await whileHeld(takeLock(join(staging, LOCK), 0), async () => {
    await openStaging(staging, { repository, commit }, onWarning)
    const folder = join(staging, FILES)
    await checkSpace(folder, files)
    let done = 0
    for (const file of files) {
      const target = join(folder, file.path)
      const onBytes = (bytes: number): void => onProgress({ done: (done += bytes), total, name: file.path })
      await makeFolder(dirname(target))
      await fetchFile(file, { hub, repository, commit, target, onBytes, pauseMs })
    }
    await rename(folder, outDir)
    await rm(staging, { recursive: true })
    return true
  })
  if (isComplete !== true)
    throw conflict('--out', `Another process is fetching into ${staging}: wait for it, or choose another folder with --out.`)
  return { commit, files: files.map(({ path }) => path), bytes: total }
}

/** Opens the folder of an unfinished pull; files of another commit are deleted with a warning. */
async function openStaging(staging: string, now: Record<'repository' | 'commit', string>, warn: (message: string) => void): Promise<void> {
  const state = await readFile(join(staging, STATE_FILE), 'utf8').catch(() => undefined)
  if (state === JSON.stringify(now)) return
  if (state !== undefined) {
    warn(
      `${staging} holds an unfinished pull of another revision; ${now.repository} is now at ${now.commit.slice(0, 12)} and is downloaded again`,
    )
    await rm(join(staging, FILES), { recursive: true, force: true })
  }
  await writeFileDurably(join(staging, STATE_FILE), JSON.stringify(now))
}

async function checkSpace(folder: string, files: readonly HubFile[]): Promise<void> {
  let missing = 0
  for (const { path, size } of files) missing += size - Math.min(size, await sizeOf(join(folder, path)))
  const place = dirname(dirname(folder))
  const { bavail, bsize } = await statfs(place)
  if (missing + SPARE_BYTES <= bavail * bsize) return
  const message = `${sizeText(missing, Math.ceil)} are still to be fetched and ${sizeText(SPARE_BYTES, Math.ceil)} to stay free, ${sizeText(bavail * bsize, Math.floor)} are free at ${place}: make room, or choose another folder with --out.`
  throw diskFull('--out', message)
}
