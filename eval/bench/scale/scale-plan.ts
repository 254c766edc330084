/**
 * The plan of a large corpus on paper: every figure is a measured unit cost times a count. Prints docs/scale.md's tables.
 * Usage: scale-plan.js [--price <dollars a core hour>] [--write]
 */
import { readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { SHARD_ROWS } from '../../../index/ingest/plan/contract.ts'
import { tableBytes } from '../../../index/ingest/space.ts'
import { partitionsFor } from '../../../index/search/ann.ts'
import type { CepeReaderConfig } from '../../../models/checkpoint/config.ts'
import { parseConfig } from '../../../models/checkpoint/config-parse.ts'
import { table } from '../measure.ts'
import { absorbedFlops, encoderFlops, prefillFlops, tokenBytes } from '../reader/reader-flops.ts'
import { GIVEN, UNIT_COSTS } from './scale-units.ts'
import { cepe1B, cepe7B } from '../reader/shapes.ts'

export const DOCUMENT = 'docs/scale.md'
/** What lies between is printed by this script. */
export const MARKS = ['<!-- tables: begin -->', '<!-- tables: end -->'] as const

/** Contriever's widths. */
const RETRIEVER = { width: 768, inner: 3072, layers: 12, parameters: 109_500_000 }
const HOUR_S = 3600
const GB = 1e9
const CORPORA = [
  { name: '21 M', passages: 21_015_300 },
  { name: '1 B', passages: 1_000_000_000 },
]
/** The question that is counted: 10 passages and two demonstrations in the prompt, 50 passages in the encoder, 25 new tokens. */
const QUESTION = { contexts: 50, contextTokens: 120, promptTokens: 1540, newTokens: 25 }

/** Operations to embed a passage of so many tokens with Contriever. */
export function embedFlops(tokens: number): number {
  const { width: d, inner, layers } = RETRIEVER
  return layers * (2 * tokens * (4 * d * d + 2 * d * inner) + 4 * tokens * tokens * d)
}

/** Passages that a core embeds in a second. */
export function embedRate(dtype: 'f32' | 'int8'): number {
  const { product, encoderShare, int8Encode } = UNIT_COSTS
  const flops = product.value * 1e9 * encoderShare.value * (dtype === 'int8' ? int8Encode.value : 1)
  return flops / embedFlops(GIVEN.passageTokens)
}

/** Milliseconds of a search over so many passages: what it costs in any case, and for every row of the partitions read. */
export function searchMs(passages: number, nprobes: number, partitions = partitionsFor(passages)): number {
  const { searchFew, searchMany } = UNIT_COSTS
  const rowsOf = (probes: number): number => (probes / 316) * 100_000
  const perRow = (searchMany.value - searchFew.value) / (rowsOf(200) - rowsOf(10))
  return searchFew.value - perRow * rowsOf(10) + perRow * passages * Math.min(1, nprobes / partitions)
}

/** Seconds of one core for an answer of a published shape, f32. */
export function answerSeconds(shape: 'CEPE 1.1B' | 'CEPE 7B'): number {
  const config = readerConfig(shape)
  const { contexts, contextTokens, promptTokens, newTokens } = QUESTION
  const rows = contexts * contextTokens
  const { product, weights, answerShare } = UNIT_COSTS
  const flops =
    encoderFlops(config, Array<number>(contexts).fill(contextTokens)) +
    prefillFlops(config, promptTokens, rows) +
    (newTokens - 1) * absorbedFlops(config, rows)
  const seconds = flops / (product.value * 1e9) + ((newTokens - 1) * tokenBytes(config)) / (weights.value * 1e9)
  return seconds / answerShare.value
}

function readerConfig(shape: 'CEPE 1.1B' | 'CEPE 7B'): CepeReaderConfig {
  const config = parseConfig(shape === 'CEPE 7B' ? cepe7B({ layers: 32, encoderLayers: 24 }) : cepe1B({ layers: 22, encoderLayers: 24 }))
  if (config.architecture !== 'cepe' || config.encoder === null) throw new Error('The shape is no reader. This is a bug.')
  return config
}

/** Bytes of a corpus by what they are for. */
export function storage(passages: number) {
  const { vectorFile, vectorIndex, otherIndexes } = UNIT_COSTS
  const { encoder } = readerConfig('CEPE 7B')
  return {
    vectors: passages * RETRIEVER.width * 2,
    text: passages * GIVEN.passageBytes,
    vectorIndex: passages * vectorIndex.value,
    otherIndexes: passages * otherIndexes.value,
    table: tableBytes(passages * GIVEN.passageBytes, passages, RETRIEVER.width) + passages * vectorIndex.value,
    place: passages * (vectorFile.value + GIVEN.passageBytes),
    states: passages * GIVEN.passageTokens * encoder.hiddenSize * 2,
  }
}

function number(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function gigabytes(bytes: number): string {
  return `${number(bytes / GB)} GB`
}

function section(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `## ${title}\n\n${table(head, rows)}\n`
}

const COLUMNS = CORPORA.map(({ name }) => name)

/** A row: what it tells, and its cell for each corpus. */
function each(what: string, cell: (passages: number) => string): string[] {
  return [what, ...CORPORA.map(({ passages }) => cell(passages))]
}

/** The tables of docs/scale.md. @param price US dollars of a core for an hour */
export function planTables(price: number): string {
  const searches = [50, GIVEN.nprobes, 800].map((nprobes) => each(String(nprobes), (passages) => number(searchMs(passages, nprobes))))
  const units = Object.values(UNIT_COSTS).map(({ what, value, unit, command }) => [
    what,
    `${value.toLocaleString('en')} ${unit}`,
    `\`${command}\``,
  ])
  return [
    section('Hours to a table', ['step', ...COLUMNS], hoursRows()),
    section('Storage', ['what', ...COLUMNS], storageRows()),
    section('Memory of a replica', ['what', ...COLUMNS], memoryRows()),
    section('p50 of a search, ms', ['partitions read of 4,096', ...COLUMNS], searches),
    section(
      `Questions, at $${price} a core hour`,
      ['reader', 'dtype', 'core seconds a question', 'questions/s of 64 cores', 'core hours a million', 'cost of a million'],
      answerRows(price),
    ),
    section('Unit costs', ['what', 'measured', 'command'], units),
  ].join('\n')
}

function hoursRows(): string[][] {
  const { planRate, writeRate, verifyRate } = UNIT_COSTS
  const hours = (rate: number) => (passages: number) => number(passages / rate / HOUR_S)
  const embedding = (['f32', 'int8'] as const).flatMap((dtype) =>
    [2, 64, 1024].map((cores) =>
      each(`embedding, ${dtype}, ${cores} cores (${number(embedRate(dtype) * cores)} passages/s)`, hours(embedRate(dtype) * cores)),
    ),
  )
  return [
    each('shards of 4,096 passages', (passages) => Math.ceil(passages / SHARD_ROWS).toLocaleString('en')),
    each('planning, one process', hours(planRate.value)),
    ...embedding,
    each('commit: writing, one process', hours(writeRate.value)),
    each('commit: read back, indexed, recall measured, one core', hours(verifyRate.value)),
  ]
}

/** A part of the storage, as a cell. */
function part(name: keyof ReturnType<typeof storage>) {
  return (passages: number): string => gigabytes(storage(passages)[name])
}

function storageRows(): string[][] {
  return [
    each('vectors, f16', part('vectors')),
    each('text', part('text')),
    each('vector index (IVF_RQ, 1 bit)', part('vectorIndex')),
    each('other indexes (words, ids, filters)', part('otherIndexes')),
    each('the whole table, as a job forecasts it, and its vector index', part('table')),
    each('the place: planned text and vector files, until committed', part('place')),
    each('encoder states stored ahead (d_enc 1024, f16), if one did', part('states')),
  ]
}

function memoryRows(): string[][] {
  return [
    each('vector index, read into memory at the start', part('vectorIndex')),
    each('retriever, f32', () => gigabytes(RETRIEVER.parameters * 4)),
    each('reader CEPE 7B, f32 weights that a token reads', () => gigabytes(tokenBytes(readerConfig('CEPE 7B')))),
    each('cached states (CEPE_STATE_CACHE_MB, default)', () => gigabytes(256 * 2 ** 20)),
  ]
}

function answerRows(price: number): string[][] {
  return (['CEPE 1.1B', 'CEPE 7B'] as const).flatMap((shape) =>
    (['f32', 'int8'] as const).map((dtype) => {
      const seconds = answerSeconds(shape) / (dtype === 'int8' ? UNIT_COSTS.int8Answer.value : 1)
      const coreHours = (1e6 * seconds) / HOUR_S
      return [shape, dtype, number(seconds), number(64 / seconds), number(coreHours), `$${number(coreHours * price)}`]
    }),
  )
}

/** The document with the tables in their place. */
export function withTables(document: string, tables: string): string {
  const [begin, end] = MARKS.map((mark) => document.indexOf(mark))
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error(`${DOCUMENT} has lost its marks ${MARKS.join(' ')}`)
  return `${document.slice(0, begin + MARKS[0].length)}\n\n${tables}\n${document.slice(end)}`
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({
    options: { price: { type: 'string', default: String(GIVEN.corePrice) }, write: { type: 'boolean', default: false } },
  })
  const tables = planTables(Number(values.price))
  if (values.write) await writeFile(DOCUMENT, withTables(await readFile(DOCUMENT, 'utf8'), tables))
  else process.stdout.write(`${tables}\n`)
}
