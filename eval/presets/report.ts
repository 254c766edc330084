import path from 'node:path'
import { heading, list, table, text, type Block } from '../report/blocks.ts'
import type { PublishedTables } from '../report/published-tables.ts'
import type { Report } from '../report/report.ts'
import { printedValue, publishedRow, publishedScore, type Cell } from './cells.ts'
import type { NotAsked } from './run.ts'
import { measuredRow, type ReaderScores } from './scores.ts'
import type { Preset, PresetRow } from './schema.ts'

const PAPERS = { cepe: 'CEPE', giraffe: 'Giraffe' } as const

export interface PresetReportOptions {
  readonly cells: readonly Cell[]
  readonly published: PublishedTables
  readonly readers: readonly ReaderScores[]
  readonly notAsked: NotAsked
  readonly fileOf: (name: string) => string | undefined
}

/** Report of a paper's table: published rows, each followed by measured scores, footnotes, and what could not be asked. */
export function presetReport(preset: Preset, { cells, published, readers, notAsked, fileOf }: PresetReportOptions): Report {
  const title = `${PAPERS[preset.paper]}, Table ${preset.table}: ${preset.title}`
  const known = published.tables[preset.table]
  const footnotes = published.doubtful.filter((entry) => entry.table === preset.table).map(({ cell, why }) => `Footnote, ${cell}: ${why}.`)
  const missing = [...notAsked].map(([cell, why]) => `${cell}: ${why}`)
  const left = [...missing, ...readers.flatMap(({ incomplete }) => incomplete)]
  return {
    title,
    figures: new Map(),
    blocks: [
      heading(1, title),
      text(known === undefined ? `${published.source}.` : `Published: ${known.what} (${published.source}).`),
      scoresTable(preset, known?.rows ?? [], readers),
      list([
        "Published scores are of 16-bit weights; a reader's precision is the end of its id. Measured scores have 95 % intervals.",
        ...preset.notes,
        ...footnotes,
      ]),
      ...(left.length === 0 ? [] : [heading(2, 'Not asked'), list(left)]),
      heading(2, 'Models'),
      modelsTable(preset),
      heading(2, 'Data files'),
      filesTable(preset, cells, fileOf),
    ],
  }
}

/** For each row the published scores, then those of every reader. */
function scoresTable(preset: Preset, rows: PublishedTables['tables'][string]['rows'], readers: readonly ReaderScores[]): Block {
  const labels = [...new Set(preset.rows.flatMap(({ label }) => Object.keys(label)))]
  const columns = preset.columns.map(({ name }) => name)
  const further = [...new Set(preset.rows.flatMap((row) => Object.keys(publishedRow(rows, row) ?? {})))].filter(
    (field) => !labels.includes(field) && !columns.includes(field) && field !== 'perplexity_above' && field !== 'oracle',
  )
  const named = (row: PresetRow, whose: string, cells: readonly string[]) => [
    ...labels.map((field) => labelled(row, field)),
    whose,
    ...cells,
  ]
  const body = preset.rows.flatMap((row) => {
    const printed = [
      ...columns.map((column) => publishedScore(rows, row, column) ?? '-'),
      ...further.map((field) => printedValue(publishedRow(rows, row)?.[field]) ?? '-'),
    ]
    const measured = readers.flatMap((reader) => {
      const cells = measuredRow(preset, row, reader)
      return cells === undefined ? [] : [named(row, reader.reader, [...cells, ...further.map(() => '-')])]
    })
    const unpublished = printed.every((cell) => cell === '-')
    return unpublished && measured.length > 0 ? measured : [named(row, 'published', printed), ...measured]
  })
  return table([...labels, 'scores', ...columns, ...further], body, labels.length + 1)
}

function labelled({ label }: PresetRow, field: string): string {
  const value = label[field]
  return value === undefined ? '' : String(value)
}

/** Checkpoints of the rows. */
function modelsTable({ models }: Preset): Block {
  return table(
    ['model', 'checkpoint', 'also for'],
    models.map(({ name, checkpoints, fallback }) => [
      name,
      checkpoints.length === 0 ? '- (--as)' : checkpoints.join(', '),
      fallback === undefined ? '' : { encoder: 'any model with an encoder', decoder: 'any model without one', any: 'any model' }[fallback],
    ]),
    3,
  )
}

function filesTable({ files }: Preset, cells: readonly Cell[], fileOf: (name: string) => string | undefined): Block {
  const used = [...new Set(cells.flatMap((cell) => Object.values(cell.files)))]
  return table(
    ['file', 'there', 'what', 'from'],
    used.map((name) => {
      const file = fileOf(name)
      return [name, file === undefined ? 'missing' : path.basename(file), files[name]?.what ?? '', files[name]?.from ?? '']
    }),
    4,
  )
}
