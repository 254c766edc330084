import { readFile, rm, stat } from 'node:fs/promises'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError, osCode } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { Values } from '../store.ts'
import { folderFiles, orAbsent } from './files.ts'

function textOf(value: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(value)}\n`
}

/** Each value is a JSON file, replaced by a rename. */
export const folderValues: Values = {
  async read(path) {
    const text = await orAbsent(readFile(path, 'utf8'))
    const value = text === undefined ? undefined : parseJson(text)
    if (text !== undefined && value === undefined)
      throw new CodedError('index_invalid', `${path} is damaged: it should hold a value of JSON.`, { field: path })
    return value
  },

  write: (path, value) => writeFileDurably(path, textOf(value)),

  async create(path, value) {
    try {
      await writeFileDurably(path, textOf(value), { exclusive: true })
      return true
    } catch (error) {
      if (osCode(error) === 'EEXIST') return false
      throw error
    }
  },

  remove: (path) => rm(path, { force: true }),
  age: (path) => folderFiles.age(path),

  async stamp(path) {
    const status = await orAbsent(stat(path))
    return status === undefined ? 'none' : `${status.ino} ${status.mtimeMs} ${status.size}`
  },
}
