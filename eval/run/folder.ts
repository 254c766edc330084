import { mkdir, open, readFile, rename, stat, writeFile, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { Compile } from 'typebox/compile'
import { CodedError } from '../../base/errors.ts'
import { ManifestSchema, type Manifest, type Subject } from './manifest.ts'
import { RecordSchema, type EvalRecord } from './record.ts'

const MANIFEST_FILE = 'manifest.json'
const PREDICTIONS_FILE = 'predictions.jsonl'
/** Records written and synced together. */
const BATCH = 16
const BATCH_MS = 1000

const isManifest = Compile(ManifestSchema)
const isRecord = Compile(RecordSchema)

export interface StoredRun {
  readonly manifest: Manifest
  /** The last record of each question, in the order of their first. */
  readonly records: readonly EvalRecord[]
}

/**
 * Reads a run folder. A last line without its line end (a killed run's) is not a record.
 * @throws run_invalid
 */
export async function readRun(folder: string): Promise<StoredRun> {
  const manifest = parseChecked(await readText(path.join(folder, MANIFEST_FILE)), isManifest, path.join(folder, MANIFEST_FILE))
  const file = path.join(folder, PREDICTIONS_FILE)
  const lines = (await readText(file)).split('\n').slice(0, -1)
  const records = new Map(
    lines.map((line, i) => parseChecked(line, isRecord, `${file} line ${i + 1}`)).map((record) => [record.id, record]),
  )
  return { manifest, records: [...records.values()] }
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new CodedError('run_invalid', `${file} cannot be read: is its folder that of an evaluation run?`, { cause: error })
  })
}

interface Validator<T> {
  Check(value: unknown): value is T
  Errors(value: unknown): { instancePath: string; message: string }[]
}

function parseChecked<T>(text: string, validator: Validator<T>, where: string): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new CodedError('run_invalid', `${where} is not valid JSON.`, { cause: error })
  }
  if (validator.Check(value)) return value
  const [error] = validator.Errors(value)
  throw new CodedError(
    'run_invalid',
    `${where}: ${error?.instancePath ?? ''} ${error?.message ?? 'is not as expected'}; it was written by another version.`,
  )
}

/** Starts a run in an empty folder, or opens the same run to go on with it. */
export async function openRun(folder: string, manifest: Manifest): Promise<{ records: readonly EvalRecord[]; writer: RecordWriter }> {
  await mkdir(folder, { recursive: true })
  const manifestFile = path.join(folder, MANIFEST_FILE)
  const predictions = path.join(folder, PREDICTIONS_FILE)
  const file = await open(predictions, 'a')
  try {
    if (
      !(await stat(manifestFile).then(
        () => true,
        () => false,
      ))
    ) {
      if ((await file.stat()).size > 0)
        throw new CodedError(
          'run_invalid',
          `${predictions} has answers, but there is no ${MANIFEST_FILE} beside it that says of what: choose another folder with --out.`,
        )
      await writeManifest(manifestFile, manifest)
      return { records: [], writer: new RecordWriter(file) }
    }
    const stored = await readRun(folder)
    const changed = difference(stored.manifest.subject, manifest.subject)
    if (changed !== undefined) {
      throw new CodedError('run_mismatch', `${folder} holds a run with another ${changed}: choose another folder with --out, or remove it.`)
    }
    const resumed = [...stored.manifest.resumed, { at: manifest.started_at, index_version: manifest.subject.index?.version ?? null }]
    await writeManifest(manifestFile, { ...stored.manifest, resumed })
    await file.truncate((await readFile(predictions)).lastIndexOf('\n') + 1)
    return { records: stored.records, writer: new RecordWriter(file) }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Through a file beside it, so that a kill leaves the old manifest or the new one. */
async function writeManifest(file: string, manifest: Manifest): Promise<void> {
  await writeFile(`${file}.tmp`, `${JSON.stringify(manifest, null, 2)}\n`)
  await rename(`${file}.tmp`, file)
}

/** The first field in which two subjects differ, with both values; the index's version is no such field (see the manifest). */
function difference(stored: Subject, wanted: Subject): string | undefined {
  const before = flatten(stored)
  const now = flatten(wanted)
  const name = [...new Set([...before.keys(), ...now.keys()])].find((key) => key !== 'index.version' && before.get(key) !== now.get(key))
  return name === undefined ? undefined : `${name} (${before.get(name) ?? 'none'}; now ${now.get(name) ?? 'none'})`
}

function flatten(value: unknown, prefix = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Map([[prefix, JSON.stringify(value)]])
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...flatten(inner, prefix === '' ? key : `${prefix}.${key}`)]))
}

/** Appends records in batches, each on disk before the next is begun. */
export class RecordWriter {
  readonly #file: FileHandle
  #pending: string[] = []
  #lastFlush = Date.now()
  #writing: Promise<void> = Promise.resolve()

  constructor(file: FileHandle) {
    this.#file = file
  }

  async add(record: EvalRecord): Promise<void> {
    this.#pending.push(`${JSON.stringify(record)}\n`)
    if (this.#pending.length >= BATCH || Date.now() - this.#lastFlush >= BATCH_MS) await this.flush()
  }

  flush(): Promise<void> {
    const batch = this.#pending.join('')
    this.#pending = []
    this.#lastFlush = Date.now()
    this.#writing = this.#writing.then(async () => {
      if (batch === '') return
      await this.#file.appendFile(batch)
      await this.#file.sync()
    })
    return this.#writing
  }

  async close(): Promise<void> {
    await this.flush()
    await this.#file.close()
  }
}
