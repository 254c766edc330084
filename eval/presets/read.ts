import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { Type } from '#typebox'
import { Compile } from '#typebox/compile'
import { CodedError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { packageRoot } from '../../src/config.ts'
import { PresetSchema, type Paper, type Preset } from './schema.ts'

const isPreset = Compile(PresetSchema)
/** Tables without a preset, by paper and number, with the reason. */
const isUnavailable = Compile(Type.Record(Type.String(), Type.Record(Type.String(), Type.String())))

function tablesFolder(): string {
  return path.join(packageRoot(), 'eval', 'presets', 'tables')
}

/** Numbers of a paper's tables with a preset, ascending. */
export async function presetTables(paper: Paper): Promise<string[]> {
  const pattern = new RegExp(`^${paper}-(\\d+)\\.json$`)
  const files = await readdir(tablesFolder())
  return files.flatMap((file) => pattern.exec(file)?.[1] ?? []).sort((a, b) => Number(a) - Number(b))
}

/**
 * Reads the preset of one table of a paper.
 * @throws options_invalid for a table without one, with the reason if known
 */
export async function readPreset(paper: Paper, table: string): Promise<Preset> {
  const known = await presetTables(paper)
  const option = paper === 'cepe' ? '--table' : '--giraffe'
  if (!known.includes(table)) {
    const reason = (await unavailableTables())[paper]?.[table]
    throw new CodedError('options_invalid', reason ?? `${option} takes ${known.join(', ')}, not ${JSON.stringify(table)}.`)
  }
  const file = path.join(tablesFolder(), `${paper}-${table}.json`)
  const value = parseJson(await readFile(file, 'utf8'))
  if (isPreset.Check(value)) return value
  const [error] = isPreset.Errors(value)
  throw new CodedError('options_invalid', `${file} is no preset: ${error?.instancePath ?? ''} ${error?.message ?? 'not valid JSON'}.`)
}

async function unavailableTables(): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  const value = parseJson(await readFile(path.join(tablesFolder(), 'unavailable.json'), 'utf8'))
  return isUnavailable.Check(value) ? value : {}
}
