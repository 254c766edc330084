import { seededRandom } from '../../../base/random.ts'
import { invalidOption, taskData, type TaskOptions } from '../../run/options.ts'
import type { PreparedTask, ReaderClient, Task, TaskSummary } from '../../run/contract.ts'
import { table, text, type Block } from '../../report/blocks.ts'
import type { SettingSummary } from '../../run/summary.ts'
import { sizeFor } from '../documents/generate.ts'
import { NUMBERS, accuracyAt, accuracyOver, prepareNeedles } from '../documents/needle.ts'

const TASK =
  'There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. I will quiz you about the important information there.'
const FILLER = 'The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.'
const QUESTION = '\nWhat is the pass key? The pass key is'

function filler(characters: number): string {
  return `${FILLER} `.repeat(Math.ceil(characters / (FILLER.length + 1))).slice(0, characters)
}

function keyLine(key: string): string {
  return `The pass key is ${key}. Remember it. ${key} is the pass key.`
}

/**
 * A prompt with a key at a distance from its end. The filler on both sides is truncated to the required number of tokens.
 * @param tokens of the whole prompt
 * @param distance tokens from the end of the key's line to the end of the prompt
 * @param count tokens of a text
 */
function passkeyCase(
  { tokens, distance }: Readonly<Record<'tokens' | 'distance', number>>,
  seed: number,
  index: number,
  count: (text: string) => number,
) {
  const random = seededRandom('passkey', seed, tokens, distance, index)
  const key = String(10_000 + Math.floor(random() * 90_000))
  const line = keyLine(key)
  const asked = count(QUESTION)
  const after = filler(sizeFor(distance - asked, (size) => count(`\n${filler(size)}`), 4 * FILLER.length))
  const document = (size: number): string => [TASK, filler(size), line, after].join('\n')
  const fitting = sizeFor(tokens - asked, (size) => count(document(size)), 4 * FILLER.length)
  return { document: document(fitting), question: QUESTION, expected: key }
}

/** Minimum accuracy, in percent, at which a key counts as found at a distance. */
const FOUND = 20

/** The largest distance up to which keys are found at all shorter ones too; 0 if the shortest is too far. */
function windowOf({ groups }: Pick<SettingSummary, 'groups'>): number | undefined {
  const points = accuracyAt(groups, 'distance').sort((a, b) => a.x - b.x)
  const lost = points.findIndex(({ y }) => y < FOUND)
  const found = lost < 0 ? points : points.slice(0, lost)
  return points.length === 0 ? undefined : (found.at(-1)?.x ?? 0)
}

function effectiveWindows({ settings }: TaskSummary): Block[] {
  return [
    text(
      `Effective window: the largest distance in tokens up to which at least ${FOUND} % of the keys are found, at all shorter ones too.`,
    ),
    table(
      ['setting', 'tokens'],
      settings.map((setting) => [setting.setting, String(windowOf(setting) ?? '-')]),
    ),
  ]
}

/** Passkey retrieval by distance (position interpolation, landmark attention). */
export const passkey: Task = {
  ...taskData('passkey'),
  derived: [{ name: 'effective_window', label: 'effective window', aggregate: 'mean', digits: 0, of: windowOf }],
  prepare,
  figures: (summary) => [accuracyOver(summary, 'distance', 'the distance between key and question', 'tokens between key and end')],
  tables: effectiveWindows,
}

function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const tokens = options.integer('tokens', 1)
  const count = (text: string): number => client.tokenizer.encode(text).length
  // Directly after the task's sentence.
  const farthest = tokens - count([TASK, keyLine('10000')].join('\n'))
  if (farthest < 1) throw invalidOption(`--tokens ${tokens} leaves no room for filler: take more.`)
  const distances = options.integer('distances', 1)
  const seed = options.integer('seed')
  const items = Array.from({ length: distances }, (_, d) => Math.round((farthest * (d + 1)) / distances)).flatMap((distance) =>
    Array.from({ length: options.integer('tries', 1) }, (_, i) => ({
      id: `distance ${distance}, try ${i + 1}`,
      groups: { distance: String(distance) },
      ...passkeyCase({ tokens, distance }, seed, i, count),
    })),
  )
  return Promise.resolve(prepareNeedles({ ...NUMBERS, items }, options, client))
}
