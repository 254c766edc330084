import { link, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { syncPath, writeFileDurably } from '../../base/durable.ts'
import { CodedError, osCode } from '../../base/errors.ts'

/**
 * A small file per table name that says which stored table answers for it. A rebuild is written into a table of its
 * own and becomes live by one rename.
 */
const AliasSchema = Type.Object({
  stored_as: Type.Union([Type.String(), Type.Null()]),
  replaced_by_job: Type.Union([Type.String(), Type.Null()], {
    description: 'Job that is building the replacement: said for older software, which refuses changes meanwhile.',
  }),
})
export type Alias = Static<typeof AliasSchema>

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
  return join(dir, `${checkTableName(table)}.alias.json`)
}

/** A name for the table on disk: the alias and a unique part. */
export function storedName(table: string, unique: string = randomUUID().slice(0, 8)): string {
  return `${checkTableName(table)}.${unique}`
}

export function tableFolder(dir: string, storedAs: string): string {
  return join(dir, `${storedAs}.lance`)
}

export async function readAlias(dir: string, table: string): Promise<Alias | undefined> {
  const path = aliasPath(dir, table)
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (Value.Check(AliasSchema, value)) return value
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

export function writeAlias(dir: string, table: string, alias: Alias): Promise<void> {
  return writeFileDurably(aliasPath(dir, table), `${JSON.stringify(alias)}\n`)
}

/** Makes an alias if there is none. @returns false if another process made one first. */
export async function createAlias(dir: string, table: string, alias: Alias): Promise<boolean> {
  const path = aliasPath(dir, table)
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
