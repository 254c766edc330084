import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { ModelError, invalid } from '../errors.ts'

/** Configs and shard indexes are kilobytes, a tokenizer some megabytes. */
const MAX_JSON_BYTES = 256 * 1024 * 1024

const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** The whole of a small file, or undefined when there is none. Errors: checkpoint_invalid when it is too large or unreadable. */
export const readSmallFile = async (path: string, limit = MAX_JSON_BYTES): Promise<Uint8Array | undefined> => {
  try {
    const { size } = await stat(path)
    if (size > limit) throw invalid(`${path} has ${size} bytes, more than the ${limit} that are read of such a file`, path)
    return await readFile(path)
  } catch (thrown) {
    if (thrown instanceof ModelError) throw thrown
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
    throw invalid(`cannot read ${path}: ${reasonOf(thrown)}`, path)
  }
}

/** A JSON file's value, or undefined when there is no such file. Errors: checkpoint_invalid when it is not JSON. */
export const readJson = async (path: string): Promise<unknown> => {
  const bytes = await readSmallFile(path)
  if (bytes === undefined) return undefined
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch (thrown) {
    throw invalid(`${path} is not JSON: ${reasonOf(thrown)}`, path)
  }
}

/** `value` as the schema's type. Errors: checkpoint_invalid naming the file, the field and what is wrong there. */
export const parseAs = <T extends TSchema>(schema: T, value: unknown, file: string): Static<T> => {
  if (Value.Check(schema, value)) return value
  const [first] = Value.Errors(schema, value)
  const field = (first?.instancePath ?? '').slice(1).replaceAll('/', '.')
  const subject = field === '' ? basename(file) : `${basename(file)}: ${field}`
  throw invalid(`${subject} ${first?.message ?? 'does not fit its schema'}`, field === '' ? file : field)
}
