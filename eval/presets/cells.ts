import path from 'node:path'
import { present } from '../../base/at.ts'
import { MODES } from '../../src/text/plan.ts'
import { printedValue } from '../report/published-tables.ts'
import { OPEN_DOMAIN_QA, shortHash } from '../run/folder.ts'
import { settingName } from '../tasks/open-domain-qa/protocol.ts'
import type { PathOf, Preset, PresetRow } from './read.ts'

export type Cell = ReturnType<typeof cellsOf>[number]

/** Mode and passages of a cell that is asked as questions. */
export function modeOf({ row }: Cell) {
  const { modes, k } = row.options ?? {}
  return { mode: present(MODES.find((name) => name === modes)), k: Number(present(k)) }
}

/** The setting of a cell in a run of questions. */
export function questionSetting(cell: Cell): string {
  const { mode, k } = modeOf(cell)
  return settingName({ method: mode, k })
}

/** Makes a value valid in a folder name. */
export function folderName(value: string): string {
  return value.replace(/[^\w.-]+/g, '-').replace(/^[-.]+|-+$/g, '')
}

export function cellsOfModel(cells: readonly Cell[], model: string): Cell[] {
  return cells.filter(({ row }) => row.models.includes(model))
}

/** Folder of the runs that were asked for a model of the table, one subfolder per reader. */
export function modelFolder(out: string, model: string): string {
  return path.join(out, folderName(model))
}

/**
 * The cells of a preset, row by row, without averaged columns: options of the task without dashes, names of files by option and their paths
 * by name, and the name of the run with the score, which cells with equal options share.
 * @param pathOf the path of a data file by its name in the preset; undefined if it is missing
 */
export function cellsOf(
  preset: Preset,
  { limit, columns, pathOf = () => undefined }: { limit?: string | undefined; columns?: readonly string[]; pathOf?: PathOf } = {},
) {
  const asked = preset.columns.filter(
    ({ mean_of: averaged, name }) => averaged === undefined && (columns === undefined || columns.includes(name)),
  )
  return preset.rows.flatMap((row) =>
    asked.map((column) => {
      const options: Readonly<Record<string, string>> = {
        ...preset.options,
        ...column.options,
        ...row.options,
        ...(limit !== undefined && { [preset.limit]: limit }),
      }
      const values = row.values ?? {}
      const filled = (name: string) => name.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole)
      const files = Object.fromEntries(Object.entries(column.files ?? {}).map(([option, name]) => [option, filled(name)]))
      // Questions are asked in all modes from one retrieval.
      const ofRun = Object.entries(options).filter(
        ([option]) => preset.task !== OPEN_DOMAIN_QA || !Object.hasOwn(row.options ?? {}, option),
      )
      const sorted = [ofRun, Object.entries(files)].map((values) => values.sort(([a], [b]) => (a < b ? -1 : 1)))
      const run = `${folderName(column.name)}-${shortHash([preset.task, ...sorted])}`
      const paths = new Map(Object.values(files).map((name) => [name, pathOf(name)]))
      const missing = [...paths].flatMap(([name, path]) => (path === undefined ? name : []))
      return { row, column, options, files, paths, missing, run, metric: row.metric ?? column.metric ?? preset.metric }
    }),
  )
}

/** Name of a cell in messages: `8192, CEPE: PG19`. */
export function cellName({ row, column }: Pick<Cell, 'row' | 'column'>): string {
  return `${Object.values(row.label).join(', ')}: ${column.name}`
}

/** The published score of a cell as printed; undefined if the table has none. */
export function publishedScore(rows: readonly Readonly<Record<string, unknown>>[], row: PresetRow, column: string): string | undefined {
  if (row.published !== undefined) return row.published[column]
  const found = publishedRow(rows, row)
  const value = found?.[column]
  if (value === null && typeof found?.['perplexity_above'] === 'number') return `> ${found['perplexity_above']}`
  return printedValue(value)
}

/** The first published row with the same label. */
export function publishedRow<Row extends Readonly<Record<string, unknown>>>(rows: readonly Row[], { label }: PresetRow): Row | undefined {
  return rows.find((row) => Object.entries(label).every(([field, value]) => row[field] === value))
}
