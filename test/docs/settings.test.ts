import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { TSchema } from 'typebox'
import { packageRoot } from '../../src/package.ts'
import { ConfigSchema } from '../../src/settings.ts'

/** Parts of a setting's schema that its row shows. */
interface Setting {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: string | number | boolean
  readonly description?: string
}

/** Allowed values of a setting: a range, the names of an enumeration, or empty for text. */
function valuesOf({ type, enum: names, minimum, maximum }: Setting): string {
  if (names !== undefined) return names.map((name) => `\`${name}\``).join(', ')
  if (type === 'boolean') return '`true`, `false`'
  return minimum === undefined || maximum === undefined ? '' : `${minimum} to ${maximum}`
}

/** The row of a setting in the table of docs/configuration.md. */
function rowOf(name: string, schema: TSchema): string {
  const setting: Setting = schema
  const value = setting.default === undefined || setting.default === '' ? '' : `\`${String(setting.default)}\``
  return `| \`CEPE_${name}\` | ${value} | ${valuesOf(setting)} | ${setting.description ?? ''} |`
}

t.test('the tables of settings are what the schema says, row by row, in its order', (t) => {
  const rows = ['configuration.md', 'tuning.md'].flatMap((name) =>
    readFileSync(path.join(packageRoot(), 'docs', name), 'utf8')
      .replace(/\nOther variables[^]*/, '')
      .split('\n')
      .filter((line) => line.startsWith('| `CEPE_')),
  )
  // On a difference, copy the wanted rows into the document.
  t.strictSame(
    rows,
    Object.entries(ConfigSchema.properties).map(([name, schema]) => rowOf(name, schema)),
  )
  t.end()
})
