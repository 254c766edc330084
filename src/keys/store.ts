import { randomBytes } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { makeFolder, writeFileDurably } from '../../base/durable.ts'
import { conflict, invalidOption, messageOf, reasonOf, notFound, osCode } from '../../base/errors.ts'
import { orAbsent, readRegular } from '../../base/exists.ts'
import { parseJson, parseSealed, sealed } from '../../base/json.ts'
import { hashKey, keysFailed, KeyRecordSchema, type KeyRecord } from './record.ts'

/** One file per key: writers of different keys never conflict, and creating the file claims the name. */
const KEY_FILE = '.key.json'
/** Readable by the owner only: hashes of random keys are no secret, but names and limits may be. */
const MODE = 0o600

const StoredSchema = Type.Object({ key: KeyRecordSchema }, { additionalProperties: false })

type NewKey = Pick<KeyRecord, 'name' | 'role' | 'requests_per_minute' | 'questions_per_day' | 'collections'>

/**
 * Creates a key and stores its hash.
 * @returns the key, which is not stored
 * @throws options_invalid for an invalid name of the key or of a collection; conflict for a used one; config_invalid if nothing can be written
 */
export async function addKey(dir: string, asked: NewKey): Promise<string> {
  // 256 random bits, for which one fast hash is sufficient.
  const key = `cepe_${randomBytes(32).toString('base64url')}`
  const record: KeyRecord = { ...asked, sha256: hashKey(key).toString('hex'), created_at: new Date().toISOString() }
  const bound = 'A key is bound to 1 to 100 collections, each named once, by 1 to 64 letters, digits, "-" and "_", a letter first.'
  if (asked.collections !== undefined && !Value.Check(KeyRecordSchema.properties.collections, asked.collections))
    throw invalidOption('collections', bound)
  if (!Value.Check(KeyRecordSchema, record))
    throw invalidOption('name', 'A name has 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first.')
  const refused = (error: unknown): never => {
    throw keysFailed(`The folder ${dir} cannot be written to (${reasonOf(error)}): set CEPE_KEYS_DIR to another.`, error)
  }
  await makeFolder(dir).catch(refused)
  try {
    await writeFileDurably(path.join(dir, record.name + KEY_FILE), toText(record), { mode: MODE, exclusive: true })
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(osCode(error) ?? '')) refused(error)
    if (osCode(error) !== 'EEXIST') throw error
    throw conflict('name', `There is, or was, a key named ${record.name}: choose another name.`)
  }
  return key
}

/**
 * Revokes a key; its name stays reserved. Other keys' files are not read.
 * @throws not_found, or config_invalid if its file cannot be read: removing the file revokes it too
 */
export async function revokeKey(dir: string, name: string): Promise<KeyRecord> {
  const file = name + KEY_FILE
  if (!(await keyFiles(dir)).includes(file)) throw notFound('name', `There is no key named ${name} in ${dir}.`)
  const record = await readKey(dir, file)
  if (record.revoked_at !== undefined) return record
  const revoked = { ...record, revoked_at: new Date().toISOString() }
  await writeFileDurably(path.join(dir, file), toText(revoked), { mode: MODE })
  return revoked
}

/** Removes a key that was never used: its name is free again. */
export async function removeKey(dir: string, name: string): Promise<void> {
  await rm(path.join(dir, name + KEY_FILE))
}

interface KeyFile {
  /** Changes when the file is replaced or edited. */
  readonly state: string
  /** Its last valid content; undefined if there was none. */
  readonly record: KeyRecord | undefined
  readonly problem: string | undefined
}

export type KeyFiles = ReadonlyMap<string, KeyFile>

/**
 * Reads the key files of a folder that changed. An unreadable file keeps its last valid content, a removed one is dropped.
 * @param known previous state; empty: reads all
 * @throws config_invalid if the folder cannot be read
 */
export async function readChanges(dir: string, known: KeyFiles = new Map()): Promise<KeyFiles> {
  const names = await keyFiles(dir)
  const files = await Promise.all(names.map(async (name) => [name, await readChange(dir, name, known.get(name))] as const))
  return new Map(files.flatMap(([name, file]) => (file === undefined ? [] : [[name, file]])))
}

async function readChange(dir: string, name: string, known: KeyFile | undefined): Promise<KeyFile | undefined> {
  let state = ''
  try {
    const found = await orAbsent(stat(path.join(dir, name)))
    // Removed after the listing.
    if (found === undefined) return undefined
    const { mtimeMs, size, ino } = found
    state = `${mtimeMs} ${size} ${ino}`
    // An unreadable file is retried: its permissions may change without its content.
    if (known?.state === state && known.problem === undefined) return known
    return { state, record: await readKey(dir, name), problem: undefined }
  } catch (error) {
    return { state, record: known?.record, problem: messageOf(error) }
  }
}

/** One key by its file's name. @throws config_invalid naming the file where it cannot be read, or holds no key */
async function readKey(dir: string, name: string): Promise<KeyRecord> {
  const file = path.join(dir, name)
  const text = (await readRegular(file).catch(unreadable(file))).toString()
  const stored = parseSealed(text)
  // Earlier software stored the record alone.
  const record = Value.Check(StoredSchema, stored) ? stored.key : parseJson(text)
  if (!Value.Check(KeyRecordSchema, record) || record.name + KEY_FILE !== name)
    throw keysFailed(`${file} is no key's file: remove it, or put its copy back.`)
  return record
}

/** Names of the keys' files, sorted. */
async function keyFiles(dir: string): Promise<string[]> {
  const names = (await orAbsent(readdir(dir)).catch(unreadable(dir))) ?? []
  return names.filter((name) => name.endsWith(KEY_FILE)).sort()
}

function unreadable(file: string): (cause: unknown) => never {
  return (cause) => {
    throw keysFailed(`The keys in ${file} cannot be read (${reasonOf(cause)}): let the service read them.`, cause)
  }
}

function toText(record: KeyRecord): string {
  return `${JSON.stringify(sealed({ key: record }), null, 2)}\n`
}
