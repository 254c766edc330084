import { seededRandom } from '../../../base/random.ts'
import type { ReaderClient } from '../../client/reader.ts'
import type { TaskOptions } from '../../task/options.ts'
import type { PreparedTask, Task } from '../../task/contract.ts'
import { overGroup } from '../documents/figures.ts'
import { NEEDLE_OPTIONS, NUMBER_METRICS, NUMBERS, prepareNeedles } from '../documents/needle.ts'

const TASK =
  'There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. I will quiz you about the important information there.'
const FILLER = 'The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.'
const QUESTION = '\nWhat is the pass key? The pass key is'

/** `characters` of the filler, cut where they end. */
function filler(characters: number): string {
  return `${FILLER} `.repeat(Math.ceil(characters / (FILLER.length + 1))).slice(0, characters)
}

/** A prompt with the key `distance` characters before the question, in a text of `characters` of filler. */
export function passkeyCase(characters: number, distance: number, seed: number, index: number) {
  const random = seededRandom('passkey', seed, characters, distance, index)
  const key = String(10_000 + Math.floor(random() * 90_000))
  const after = Math.min(characters, Math.round(distance))
  return {
    document: [TASK, filler(characters - after), `The pass key is ${key}. Remember it. ${key} is the pass key.`, filler(after)].join('\n'),
    question: QUESTION,
    expected: key,
  }
}

/** Passkey retrieval by distance (position interpolation, landmark attention). */
export const passkey: Task = {
  name: 'passkey',
  version: 1,
  title: 'Passkey retrieval',
  description: 'Five digits hidden in filler text at a given distance from the question.',
  options: [
    { flags: '--characters <number>', description: 'characters of filler', byDefault: '16000', small: '3000' },
    { flags: '--distances <number>', description: 'distances, spaced evenly over the filler', byDefault: '32', small: '6' },
    { flags: '--tries <number>', description: 'keys per distance', byDefault: '10', small: '3' },
    { flags: '--seed <number>', description: 'of the keys', byDefault: '1' },
    ...NEEDLE_OPTIONS,
    { flags: '--max-new-tokens <number>', description: 'longest output', byDefault: '10', small: '6' },
  ],
  metrics: NUMBER_METRICS,
  prepare,
  figures: (summary) => [
    {
      name: 'accuracy',
      caption: 'Accuracy over the distance between key and question, one line per setting.',
      spec: overGroup(
        summary,
        { group: 'distance', metric: 'accuracy' },
        { xTitle: 'characters between key and question', yTitle: 'accuracy (%)' },
      ),
    },
  ],
  notes: [
    "The first number of the output must be the key. Filler is cut by characters, as landmark attention's script does.",
    'cepe: the filler and the key that the decoder does not hold are in chunks in the encoder.',
    'A prompt that the window does not hold is not asked of the decoder alone: such cells have no score.',
  ],
}

function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const characters = options.integer('characters', 1)
  const distances = options.integer('distances', 1)
  const seed = options.integer('seed')
  const items = Array.from({ length: distances }, (_, d) => Math.round((characters * (d + 1)) / distances)).flatMap((distance) =>
    Array.from({ length: options.integer('tries', 1) }, (_, i) => ({
      id: `distance ${distance}, try ${i + 1}`,
      groups: { distance: String(distance) },
      ...passkeyCase(characters, distance, seed, i),
    })),
  )
  const newTokens = { maxNewTokens: options.integer('maxNewTokens', 1), minNewTokens: 0 }
  return Promise.resolve(prepareNeedles({ ...NUMBERS, ...newTokens, items }, options, client))
}
