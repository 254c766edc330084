/**
 * The tables of docs/benchmarks.md from the results of the benchmarks, bench/results/figures.json:
 *
 *     npm run build:test && node dist-test/bench/figures.js --write
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Type, type Static } from '#typebox'
import { Compile } from '#typebox/compile'
import { parseJson } from '../base/json.ts'
import { packageRoot } from '../src/config.ts'

/** Results by table: its columns, and one figure per column and row. */
const FiguresSchema = Type.Object(
  {
    tables: Type.Record(
      Type.String({ pattern: '^[a-z0-9-]+$' }),
      Type.Object(
        {
          columns: Type.Array(Type.String(), { minItems: 2 }),
          rows: Type.Array(Type.Record(Type.String(), Type.String()), { minItems: 1 }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type Figures = Static<typeof FiguresSchema>
const isFigures = Compile(FiguresSchema)

export const DOCUMENT = path.join(packageRoot(), 'docs', 'benchmarks.md')
const FIGURES = path.join(packageRoot(), 'bench', 'results', 'figures.json')

/** A table's placeholder in the document. */
const PLACEHOLDER = /<!-- figures: ([a-z0-9-]+) -->\n[^]*?<!-- end of figures -->/g

/** @throws Error naming the problem of the file */
export async function readFigures(file = FIGURES): Promise<Figures> {
  const value = parseJson(await readFile(file, 'utf8'))
  if (isFigures.Check(value)) return value
  const [error] = isFigures.Errors(value)
  throw new Error(`${file}: ${error?.instancePath ?? ''} ${error?.message ?? 'is not JSON'}`)
}

function tableOf({ columns, rows }: Figures['tables'][string], name: string): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const body = rows.map((row) =>
    line(
      columns.map((column) => {
        const figure = row[column]
        if (figure === undefined) throw new Error(`A row of the figures ${name} has no ${JSON.stringify(column)}: ${JSON.stringify(row)}`)
        return figure
      }),
    ),
  )
  return [line(columns), line(columns.map(() => '---')), ...body].join('\n')
}

/**
 * The document with every table replaced by its figures.
 * @throws Error for a placeholder without figures, figures without a placeholder, and a row that lacks a column
 */
export function withFigures(document: string, { tables }: Figures): string {
  const filled = new Set<string>()
  const written = document.replace(PLACEHOLDER, (_, name: string) => {
    const table = tables[name]
    if (table === undefined) throw new Error(`The document has a placeholder for the figures ${name}, which do not exist.`)
    filled.add(name)
    return `<!-- figures: ${name} -->\n\n${tableOf(table, name)}\n\n<!-- end of figures -->`
  })
  const left = Object.keys(tables).filter((name) => !filled.has(name))
  if (left.length > 0) throw new Error(`The document has no placeholder for the figures ${left.join(', ')}.`)
  return written
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
  const document = withFigures(await readFile(DOCUMENT, 'utf8'), await readFigures())
  if (values.write) await writeFile(DOCUMENT, document)
  else process.stdout.write(document)
}
