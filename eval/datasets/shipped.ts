import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { CodedError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { packageRoot } from '../../src/package.ts'

/** A file or folder that ships with the package. */
export function shippedPath(name: string): string {
  return path.join(packageRoot(), name)
}

/** The shipped corpus, the default data of tasks. */
export function demoCorpus(): string {
  return shippedPath('index/corpus/passages.tsv')
}

/** A file of the shipped questions, which are about the shipped corpus. */
export function questionFile(name: string): string {
  return shippedPath(`eval/questions/${name}`)
}

/** Reads a JSON file that ships with the package. @throws options_invalid if it is damaged */
export function readShipped<T extends TSchema>(name: string, schema: T): Static<T> {
  const file = shippedPath(name)
  const value = parseJson(readFileSync(file, 'utf8'))
  if (Value.Check(schema, value)) return value
  const [error] = Value.Errors(schema, value)
  const problem = `${error?.instancePath ?? ''} ${error?.message ?? ''}`.trim()
  throw new CodedError('options_invalid', `${file} is damaged (${problem}): install the project again.`)
}
