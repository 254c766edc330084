import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Type } from '#typebox'
import { Value } from '#typebox/value'
import { CodedError } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import { parseJson } from '../../base/json.ts'
import { packageRoot } from '../../src/package.ts'
import { fileHash } from '../datasets/records.ts'

/** Lines of `sha256sum`: hash, two spaces, path. */
const LISTED = /^([0-9a-f]{64}) {2}(.+)$/

/**
 * Compares a folder with a list of hashes, as `sha256sum -c` does: figures are of these files and no others.
 * @returns how many files the list has
 * @throws dataset_invalid where one is missing or differs
 */
export async function checkListed(folder: string, list: string): Promise<number> {
  const lines = (await readFile(list, 'utf8')).split('\n').flatMap((line) => {
    const [, hash, name] = LISTED.exec(line) ?? []
    return hash === undefined || name === undefined ? [] : [{ hash, name }]
  })
  const other: string[] = []
  for (const { hash, name } of lines) {
    const file = path.join(folder, name)
    if (!(await exists(file)) || (await fileHash(file)) !== hash) other.push(name)
  }
  if (other.length === 0) return lines.length
  throw new CodedError(
    'dataset_invalid',
    `${other.length} of the ${lines.length} files of ${path.basename(list)} are missing from ${folder} or differ, ${other.slice(0, 3).join(', ')} among them: the questions were written from those.`,
  )
}

const SourceSchema = Type.Object({ question: Type.String(), source: Type.String() })

/** The file that each question of a question file was written from, by the question's text. */
export async function sourcesOf(questions: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(questions, 'utf8')).split('\n').map(parseJson)
  return new Map(lines.flatMap((line) => (Value.Check(SourceSchema, line) ? [[line.question.trim(), line.source] as const] : [])))
}

/** Indexes a folder by the command line, as its users do. @throws service_unreachable where the command fails; its message stands on standard error */
export async function indexFolder(folder: string, settings: Readonly<Record<`CEPE_${string}`, string>>, cwd: string): Promise<void> {
  const child = spawn(process.execPath, [path.join(packageRoot(), 'dist', 'src', 'cli.js'), 'index', 'add', path.resolve(folder)], {
    cwd,
    env: { ...settings },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new CodedError('service_unreachable', `${folder} was not indexed; the command's message stands above.`)
}
