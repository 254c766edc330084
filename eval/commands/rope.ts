import path from 'node:path'
import { closing } from '../../base/files.ts'
import { parseRopeOption } from '../../models/blocks/rope-option.ts'
import { buildModel } from '../../models/build.ts'
import { loadConfig } from '../../src/config.ts'
import { figure, heading, list, number, table, text } from '../report/blocks.ts'
import { linesOver, type LinePoint } from '../report/lines.ts'
import { writeReport } from '../report/report.ts'
import { lengthOf } from '../tasks/language/score.ts'
import { lines } from '../tasks/lines/task.ts'
import { lm } from '../tasks/lm/task.ts'
import { invalidOption, listedWords, taskOptions, wholeNumber } from '../run/options.ts'
import { readRunOf } from '../tasks/runs.ts'
import { runTask } from '../run/run-task.ts'
import { summariseTask } from '../run/summary.ts'
import type { Task } from '../run/contract.ts'

const LM = {
  methods: 'full-context',
  contexts: '0,4,8,16,24',
  contextTokens: '64',
  decoderTokens: '256',
  scoredTokens: '64',
  windows: '4',
  step: '4096',
}
const LINES = { methods: 'decoder-only', lines: '5,10,20,40', cases: '4', maxNewTokens: '8', minNewTokens: '2', decoderTokens: '2048' }

export interface RopeOptions {
  readonly kinds: string
  readonly window: string
  readonly runs: string
  readonly out?: string
}

/** `cepe eval rope`. @throws options_invalid */
export async function runRope({ kinds, window, runs, out = runs }: RopeOptions): Promise<void> {
  const positions = wholeNumber('--window', window, 1)
  const { READER_CHECKPOINT: checkpointDir } = loadConfig()
  if (checkpointDir === '') throw invalidOption('Each kind is built from the checkpoint: set CEPE_READER_CHECKPOINT to its folder.')
  const points: Points = { perplexity: [], accuracy: [] }
  const named = listedWords(kinds)
  for (const kind of named) parseRopeOption(kind, positions)
  for (const kind of named) {
    process.stderr.write(`${kind}\n`)
    await measure(kind, { window: positions, checkpointDir, folder: path.join(runs, kind.replace(/[^\w.-]/g, '_')) }, points)
  }
  await report(points, { window: positions, checkpointDir }, out)
}

type Points = Record<'perplexity' | 'accuracy', LinePoint[]>

interface Measured {
  /** Positions. */
  readonly window: number
  readonly checkpointDir: string
}

async function measure(
  kind: string,
  { window, checkpointDir, folder }: Measured & { readonly folder: string },
  points: Points,
): Promise<void> {
  const outDir = path.join(folder, 'model')
  await buildModel({ checkpointDir, outDir, dtype: 'f32', rope: { rope: kind, window } })
  const { createReaderClient } = await import('../client/reader.ts')
  await using client = closing(await createReaderClient({ READER_DIR: outDir, READER_CHECKPOINT: '' }))
  const settingsOf = async (task: Task, options: Record<string, string>) => {
    const into = await runTask({ task, options: taskOptions(task, options), client, folder: path.join(folder, task.name) })
    return summariseTask(task, await readRunOf(into)).settings
  }
  const point = (x: number, score: { readonly mean: number } | undefined): LinePoint => ({ series: kind, x, y: score?.mean ?? Number.NaN })
  for (const setting of await settingsOf(lm, LM)) points.perplexity.push(point(lengthOf(setting), setting.scores['loss']))
  for (const { groups } of await settingsOf(lines, LINES))
    points.accuracy.push(...groups.map(({ value, scores }) => point(Number(value), scores['accuracy'])))
}

async function report({ perplexity, accuracy }: Points, { window, checkpointDir }: Measured, out: string): Promise<void> {
  const title = 'Context extension by rotary bases'
  const axis = { type: 'log', nice: false, padding: 10 } as const
  const blocks = [
    heading(1, title),
    text(
      `The decoder of ${path.basename(checkpointDir)}, built with each basis and a window of ${window} positions; no weight is changed.`,
    ),
    heading(2, 'Perplexity by length'),
    byKind(perplexity, 'tokens', 2),
    figure(
      'perplexity',
      'Perplexity of the last tokens over the length of the text, one line per basis; every point scores the same tokens.',
      linesOver(perplexity, { x: 'tokens of text', y: 'perplexity', series: 'basis' }, axis),
    ),
    heading(2, 'LongChat-Lines by length'),
    byKind(accuracy, 'lines', 1),
    figure(
      'lines',
      'Accuracy (%) over the number of lines, one line per basis.',
      linesOver(accuracy, { x: 'lines', y: 'accuracy (%)', series: 'basis' }, { domain: [0, 100] }),
    ),
    list([
      'A basis that a decoder was not trained with shows here what it costs without training; Giraffe trains each.',
      ...(accuracy.every(({ y }) => y === 0 || Number.isNaN(y))
        ? ['This decoder finds no line at any length, also as it was trained: the perplexities alone tell the bases apart.']
        : []),
    ]),
  ]
  await writeReport({ title, blocks }, out)
}

function byKind(points: readonly LinePoint[], unit: string, digits: number) {
  const xs = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b)
  const kinds = [...new Set(points.map(({ series }) => series))]
  return table(
    ['basis', ...xs.map((x) => `${x} ${unit}`)],
    kinds.map((kind) => [kind, ...xs.map((x) => number(points.find((point) => point.series === kind && point.x === x)?.y ?? NaN, digits))]),
  )
}
