import { isUtf8 } from 'node:buffer'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { at } from '../../../base/at.ts'
import { CodedError, messageOf, orThrow, osCode } from '../../../base/errors.ts'
import { readRegular } from '../../../base/exists.ts'
import { invalid } from '../../errors.ts'

/** Configs and shard indexes take kilobytes, a tokenizer some megabytes. */
const MAX_JSON_BYTES = 256 * 1024 * 1024

/** Reads a small file; undefined if it does not exist. @throws checkpoint_invalid if it is too large or unreadable */
export async function readSmallFile(path: string): Promise<Uint8Array | undefined> {
  try {
    const { size } = await stat(path)
    if (size > MAX_JSON_BYTES)
      throw invalid(`${path} has ${size} bytes, more than the ${MAX_JSON_BYTES} that are read of such a file`, path)
    return await readRegular(path)
  } catch (thrown) {
    if (thrown instanceof CodedError) throw thrown
    if (osCode(thrown) === 'ENOENT') return undefined
    throw invalid(`cannot read ${path}: ${messageOf(thrown)}`, path)
  }
}

/** Reads a text file; undefined if it does not exist. @throws checkpoint_invalid if it is not UTF-8, or unreadable */
export async function readText(path: string): Promise<string | undefined> {
  const bytes = await readSmallFile(path)
  if (bytes !== undefined && !isUtf8(bytes)) throw invalid(`${path} is not UTF-8; take the file from the model's source again`, path)
  return bytes && new TextDecoder().decode(bytes)
}

/** Reads a JSON file; undefined if it does not exist. @throws checkpoint_invalid if it is not JSON */
export async function readJson(path: string): Promise<unknown> {
  const text = await readText(path)
  return orThrow(
    () => (text === undefined ? undefined : (JSON.parse(text) as unknown)),
    (thrown) => invalid(`${path} is not JSON: ${messageOf(thrown)}; take the file from the model's source again`, path),
  )
}

/** `value` as the schema's type. @throws checkpoint_invalid naming the file, the field and what is wrong there. */
export function parseAs<T extends TSchema>(schema: T, value: unknown, file: string): Static<T> {
  if (Value.Check(schema, value)) return value
  const [first] = Value.Errors(schema, value)
  const unknown = first?.keyword === 'additionalProperties' ? `/${at(first.params.additionalProperties, 0)}` : ''
  const field = `${first?.instancePath ?? ''}${unknown}`.slice(1).replaceAll('/', '.')
  const subject = field === '' ? basename(file) : `${basename(file)}: ${field}`
  throw invalid(`${subject} ${first?.message ?? 'does not fit its schema'}`, field === '' ? file : field)
}
