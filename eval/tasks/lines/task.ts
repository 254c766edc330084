import { CodedError } from '../../../base/errors.ts'
import type { Task } from '../../task/contract.ts'
import { overGroup } from '../documents/figures.ts'
import { VICUNA } from '../documents/generate.ts'
import { NEEDLE_OPTIONS, NUMBER_METRICS, NUMBERS, prepareNeedles } from '../documents/needle.ts'
import { linesCase, MOST_LINES } from './generate.ts'

/** LongChat-Lines, as in Giraffe. */
export const lines: Task = {
  name: 'lines',
  version: 1,
  title: 'LongChat-Lines',
  description: 'A record of named lines with a number each, one of which is asked for.',
  options: [
    { flags: '--lines <numbers>', description: 'lines of a record, a list', byDefault: '100,200,400,600,800', small: '5,10,20,40' },
    { flags: '--cases <number>', description: 'cases per number of lines', byDefault: '50', small: '4' },
    { flags: '--seed <number>', description: 'of the records', byDefault: '0' },
    ...NEEDLE_OPTIONS,
    { flags: '--max-new-tokens <number>', description: 'longest output', byDefault: '35', small: '8' },
    { flags: '--min-new-tokens <number>', description: 'least new tokens', byDefault: '5', small: '2' },
  ],
  metrics: NUMBER_METRICS,
  prepare: (options, client) => {
    const counts = options.integers('lines', 1)
    const most = Math.max(...counts)
    if (most > MOST_LINES)
      throw new CodedError('options_invalid', `--lines takes numbers to ${MOST_LINES}, since names are different; not ${most}.`)
    const seed = options.integer('seed')
    const items = counts.flatMap((count) =>
      Array.from({ length: options.integer('cases', 1) }, (_, i) => {
        const { document, question, expected } = linesCase(count, seed, i)
        return {
          id: `${count} lines, case ${i + 1}`,
          groups: { lines: String(count) },
          document: VICUNA.before + document,
          question: question + VICUNA.after,
          expected,
        }
      }),
    )
    const newTokens = { maxNewTokens: options.integer('maxNewTokens', 1), minNewTokens: options.integer('minNewTokens') }
    return Promise.resolve(prepareNeedles({ ...NUMBERS, ...newTokens, items }, options, client))
  },
  figures: (summary) => [
    {
      name: 'accuracy',
      caption: 'Accuracy over the number of lines, one line per setting.',
      spec: overGroup(summary, { group: 'lines', metric: 'accuracy' }, { xTitle: 'lines', yTitle: 'accuracy (%)' }),
    },
  ],
  notes: [
    "The prompt is LongChat's in Vicuna's template; the first number of the output counts (LongChat's own script takes the last).",
    'A record that the window does not hold is not asked of the decoder alone: such cells have no score.',
    'Records are generated from a seed and the word lists of this project; LongChat ships fixed ones.',
  ],
}
