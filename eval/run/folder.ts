import { open, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { appendLine, makeFolder, writeFileDurably } from '../../base/durable.ts'
import { CodedError, onCode } from '../../base/errors.ts'
import { exists, readRegular } from '../../base/exists.ts'
import { digestOf, isObject, parseJson, parseSealed, sealed } from '../../base/json.ts'
import { takeLock, type Lock } from '../../base/locks/lock.ts'
import { packageRoot } from '../../src/package.ts'
import type { ManifestFields, TaskRecord } from './record.ts'
import { invalidOption, taskData } from './options.ts'

const MANIFEST_FILE = 'manifest.json'
const PREDICTIONS_FILE = 'predictions.jsonl'
/** Task name of open-domain question answering, which is no `Task`. */
export const OPEN_DOMAIN_QA = 'open-domain-qa'
const WRITER = 'writer'

/** A folder of runs, by default. */
export function runsFolder(name: string): string {
  return path.join(packageRoot(), 'eval', 'runs', name)
}

/** Folder of a run by what determines it, so that repeating a command resumes its run. */
export function runFolder(name: string, subject: unknown): string {
  return runsFolder(`${name.replace(/[^\w.-]/g, '_')}-${shortHash(subject)}`)
}

/** Eight digits for a name of a folder. */
export function shortHash(value: unknown): string {
  return digestOf(value).slice(0, 8)
}

/** Fields of every run's manifest: what it measures, and when it was resumed. */
export interface RunManifest extends Pick<ManifestFields, 'started_at' | 'resumed'> {
  readonly task: string
  /** A change of any field makes another run. */
  readonly subject: { readonly version: number }
}

/** Format of a kind of run: one manifest, and one line per item. */
export interface RunFormat<M extends RunManifest, R extends Pick<TaskRecord, 'id'>> {
  readonly manifest: Validator<M>
  readonly record: Validator<R>
}

export interface Stored<M, R> {
  readonly manifest: M
  /** The last record of each item, in order of first occurrence. */
  readonly records: readonly R[]
}

const isAnyManifest = Compile(Type.Object({ task: Type.String() }))

/** The task of the run in the folder. @throws run_invalid */
export async function taskOfRun(folder: string): Promise<string> {
  return (await readManifest(folder, isAnyManifest)).task
}

async function readManifest<M>(folder: string, validator: Validator<M>): Promise<M> {
  const file = path.join(folder, MANIFEST_FILE)
  return parseChecked(await readText(file), validator, file, 'choose another folder with --out, or put the copy of the file back')
}

const { compare: inOrder } = new Intl.Collator('en', { numeric: true })

/**
 * Reads a run folder, its records in the order of their ids: answers end in another order each time. A last line without end is ignored.
 * @throws run_invalid; run_mismatch if the task has another version since, in which the same options give other scores
 */
export async function readStored<M extends RunManifest, R extends Pick<TaskRecord, 'id'>>(
  folder: string,
  format: RunFormat<M, R>,
): Promise<Stored<M, R>> {
  const manifest = await readManifest(folder, format.manifest)
  const [{ version }, { version: present }] = [manifest.subject, taskData(manifest.task)]
  const other = `${folder} is of version ${version} of the task ${manifest.task}; this is version ${present}: run it again.`
  if (version !== present) throw new CodedError('run_mismatch', other)
  const file = path.join(folder, PREDICTIONS_FILE)
  const lines = (await readText(file)).split('\n').slice(0, -1)
  const records = new Map(
    lines.map((line, i) => parseChecked(line, format.record, `${file} line ${i + 1}`, REMOVE_LINE)).map((record) => [record.id, record]),
  )
  return { manifest, records: [...records.values()].sort((a, b) => inOrder(a.id, b.id)) }
}

/** Remedy for a damaged line of answers. */
export const REMOVE_LINE = 'remove the line and repeat the command, which asks its question again'

async function readText(file: string): Promise<string> {
  const content = await readRegular(file).catch((error: unknown) => {
    throw new CodedError('run_invalid', `${file} cannot be read: is its folder that of an evaluation run?`, { cause: error })
  })
  return content.toString()
}

interface Validator<T> {
  Check(value: unknown): value is T
  Errors(value: unknown): { instancePath: string; message: string }[]
}

function parseChecked<T>(text: string, validator: Validator<T>, where: string, remedy: string): T {
  const value = parseSealed(text)
  if (validator.Check(value)) return value
  const [error] = value === undefined ? [] : validator.Errors(value)
  const unread = parseJson(text) === undefined ? 'is not valid JSON' : 'is damaged: its values are not those of its SHA-256'
  const problem = error === undefined ? unread : `is damaged or of another version (${error.instancePath} ${error.message})`
  throw new CodedError('run_invalid', `${where} ${problem}: ${remedy}.`)
}

export function hasRun(folder: string): Promise<boolean> {
  return exists(path.join(folder, MANIFEST_FILE))
}

export interface OpenRun<R extends object> {
  readonly records: readonly R[]
  readonly writer: ReturnType<typeof recordWriter<R>>
}

/**
 * Starts a run in an empty folder, or resumes it. The folder is locked until the writer is closed.
 * @throws run_mismatch if the folder holds another run, run_invalid; conflict while another process writes there
 */
export async function openRun<R extends Pick<TaskRecord, 'id'>>(
  folder: string,
  manifest: RunManifest,
  format: RunFormat<RunManifest, R>,
): Promise<OpenRun<R>> {
  const refuse = onCode(['EEXIST', 'ENOTDIR'], (error) => {
    throw invalidOption(`${folder} is a file, or is inside one: name a folder with --out.`, error)
  })
  await makeFolder(folder).catch(refuse)
  const lock = await takeLock(path.join(folder, WRITER), 0)
  if (lock === undefined)
    throw new CodedError('conflict', `Another evaluation is writing into ${folder}: wait for it, or choose another folder with --out.`)
  const predictions = path.join(folder, PREDICTIONS_FILE)
  let file: FileHandle | undefined
  try {
    file = await open(predictions, 'a+')
    const stored = await storedRun(folder, manifest, format)
    const stray = `${predictions} has answers, but there is no ${MANIFEST_FILE} next to it: choose another folder with --out.`
    if (stored === undefined && (await file.stat()).size > 0) throw new CodedError('run_invalid', stray)
    const now = { at: manifest.started_at, index_version: indexVersion(manifest.subject) }
    const written = stored ? { ...stored.manifest, resumed: [...stored.manifest.resumed, now] } : manifest
    await writeFileDurably(path.join(folder, MANIFEST_FILE), `${JSON.stringify(sealed(written), null, 2)}\n`)
    if (stored) await file.truncate((await readRegular(predictions)).lastIndexOf('\n') + 1)
    return { records: stored?.records ?? [], writer: recordWriter<R>(file, lock) }
  } catch (error) {
    await file?.close()
    await lock.release()
    throw error
  }
}

/** The stored run, to be resumed; undefined in a folder without one. @throws run_mismatch if it is another run; as readStored */
export async function storedRun<R extends Pick<TaskRecord, 'id'>>(
  folder: string,
  manifest: RunManifest,
  format: RunFormat<RunManifest, R>,
): Promise<Stored<RunManifest, R> | undefined> {
  if (!(await hasRun(folder))) return undefined
  const task = await taskOfRun(folder)
  if (task !== manifest.task)
    throw new CodedError('run_mismatch', `${folder} holds a run of ${task}: choose another folder with --out, or remove it.`)
  const stored = await readStored(folder, format)
  const changed = difference(stored.manifest.subject, manifest.subject)
  if (changed === undefined) return stored
  throw new CodedError('run_mismatch', `${folder} holds a run with another ${changed}: choose another folder with --out, or remove it.`)
}

function indexVersion(subject: object): number | null {
  const version = 'index' in subject && isObject(subject.index) ? subject.index['version'] : null
  return typeof version === 'number' ? version : null
}

/** The first field in which two subjects differ, with both values; the index's version is ignored (see the manifest). */
function difference(stored: object, wanted: object): string | undefined {
  const before = flatten(stored)
  const now = flatten(wanted)
  const name = [...new Set([...now.keys(), ...before.keys()])].find((key) => key !== 'index.version' && before.get(key) !== now.get(key))
  return name === undefined ? undefined : `${name} (${before.get(name) ?? 'none'}; now ${now.get(name) ?? 'none'})`
}

function flatten(value: unknown, prefix = ''): Map<string, string> {
  if (!isObject(value)) return new Map([[prefix, JSON.stringify(value)]])
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...flatten(inner, prefix === '' ? key : `${prefix}.${key}`)]))
}

/** Appends records one after the other; each is durable when `add` resolves. */
function recordWriter<R extends object>(file: FileHandle, lock: Lock) {
  let writing = Promise.resolve()
  return {
    add: (record: R): Promise<void> => (writing = writing.then(() => appendLine(file, JSON.stringify(sealed(record))))),
    /** Releases the folder even if writing failed. */
    close: async (): Promise<void> => {
      try {
        await writing
      } finally {
        await file.close()
        await lock.release()
      }
    },
  }
}
