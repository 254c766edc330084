import { link, readFile, rm, stat } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { at } from '../../base/at.ts'
import { syncPath, writeFileDurably } from '../../base/durable.ts'
import { CodedError, osCode } from '../../base/errors.ts'
import { readValue, writeValue } from '../store/lease.ts'
import { isRemote, within } from '../store/location.ts'

/**
 * A small file per table name that says which stored table answers for it. A rebuild is written into a table of its
 * own and becomes live by one rename. In an object store it is a small object that changes by conditional writes, and that
 * also says whose turn it is to change the table: who lost the turn cannot change the alias.
 */
const AliasSchema = Type.Object({
  stored_as: Type.Union([Type.String(), Type.Null()]),
  replaced_by_job: Type.Union([Type.String(), Type.Null()], {
    description: 'Job that is building the replacement: said for older software, which refuses changes meanwhile.',
  }),
})
export type Alias = Static<typeof AliasSchema>

const SinceSchema = Type.Object({ stored_as: Type.Union([Type.String(), Type.Null()]), since: Type.String() })

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** @throws invalid_request for a name that cannot be a table's. */
export function checkTableName(name: string): string {
  if (!NAME.test(name))
    throw new CodedError('invalid_request', `"${name.slice(0, 80)}" is no table name: use 1 to 64 letters, digits, "-" and "_".`, {
      field: 'table',
    })
  return name
}

export function aliasPath(dir: string, table: string): string {
  return within(dir, `${checkTableName(table)}.alias.json`)
}

/** A name for the table on disk: the alias and a unique part. */
export function storedName(table: string, unique: string = randomUUID().slice(0, 8)): string {
  return `${checkTableName(table)}.${unique}`
}

/** The alias that a stored table was made for. */
export function tableOf(storedAs: string): string {
  return at(storedAs.split('.'), 0)
}

export function tableFolder(dir: string, storedAs: string): string {
  return within(dir, `${storedAs}.lance`)
}

export async function readAlias(dir: string, table: string): Promise<Alias | undefined> {
  const path = aliasPath(dir, table)
  try {
    const value: unknown = isRemote(dir) ? await readValue(path) : JSON.parse(await readFile(path, 'utf8'))
    if (value === undefined || Value.Check(AliasSchema, value)) return value
  } catch (error) {
    if (osCode(error) === 'ENOENT') return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new CodedError(
    'index_invalid',
    `${path} is damaged: it should read {"stored_as": "<a folder beside it, without .lance>", "replaced_by_job": null}.`,
    { field: path },
  )
}

/** @throws conflict in an object store, where the turn that it is called in was lost */
export function writeAlias(dir: string, table: string, alias: Alias): Promise<void> {
  const path = aliasPath(dir, table)
  return isRemote(dir) ? writeRemote(path, alias) : writeFileDurably(path, `${JSON.stringify(alias)}\n`)
}

/** Every turn changes the object: when the alias was pointed elsewhere, it says itself. */
async function writeRemote(path: string, alias: Alias): Promise<void> {
  const before = await readValue(path)
  const kept = Value.Check(SinceSchema, before) && before.stored_as === alias.stored_as ? before.since : undefined
  await writeValue(path, { ...alias, since: kept ?? new Date().toISOString() })
}

/** Milliseconds since the alias was pointed at another stored table, at least; Infinity where there is none. */
export async function aliasAge(dir: string, table: string): Promise<number> {
  const path = aliasPath(dir, table)
  if (isRemote(dir)) {
    const value = await readValue(path)
    return Value.Check(SinceSchema, value) ? Date.now() - Date.parse(value.since) : Infinity
  }
  try {
    return Date.now() - (await stat(path)).mtimeMs
  } catch (error) {
    if (osCode(error) === 'ENOENT') return Infinity
    throw error
  }
}

/** For a table that does not exist after all. */
export function removeAlias(dir: string, table: string): Promise<void> {
  const path = aliasPath(dir, table)
  return isRemote(dir) ? writeValue(path, null) : rm(path, { force: true })
}

/** Changes whenever the alias points at another stored table. */
export async function aliasStamp(dir: string, table: string): Promise<string> {
  if (isRemote(dir)) return (await readAlias(dir, table))?.stored_as ?? 'none'
  try {
    const { ino, mtimeMs, size } = await stat(aliasPath(dir, table))
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    if (osCode(error) === 'ENOENT') return 'none'
    throw error
  }
}

/** Makes an alias if there is none. @returns false if another process made one first. */
export async function createAlias(dir: string, table: string, alias: Alias): Promise<boolean> {
  const path = aliasPath(dir, table)
  if (isRemote(dir)) {
    // Called under the writer lock: no other process creates one.
    if ((await readAlias(dir, table)) !== undefined) return false
    await writeAlias(dir, table, alias)
    return true
  }
  const aside = `${path}.${randomUUID()}.new`
  await writeFileDurably(aside, `${JSON.stringify(alias)}\n`)
  try {
    await link(aside, path)
    await syncPath(dir)
    return true
  } catch (error) {
    if (osCode(error) === 'EEXIST') return false
    throw error
  } finally {
    await rm(aside, { force: true })
  }
}
