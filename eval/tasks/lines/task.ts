import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { at } from '../../../base/at.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'
import { readItems } from '../../datasets/records.ts'
import type { PreparedTask, ReaderClient, Task } from '../../run/contract.ts'
import { invalidOption, taskData, type TaskOptions } from '../../run/options.ts'
import { sizeFor, VICUNA } from '../documents/generate.ts'
import { type NeedleItem, type NeedleTask, NUMBERS, accuracyOver, prepareNeedles } from '../documents/needle.ts'

export const lines: Task = {
  ...taskData('lines'),
  prepare,
  figures: (summary) => {
    const unit = summary.settings.some(({ groups }) => groups.some(({ group }) => group === 'lines')) ? 'lines' : 'tokens'
    return [accuracyOver(summary, unit, `the length of the prompt in ${unit}`)]
  },
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const data = options.text('data')
  const read = data === undefined ? { items: generated(options, client) } : await published(data, options.integer('cases', 1))
  return prepareNeedles({ ...NUMBERS, ...read }, options, client)
}

/** Cases of every requested length. @throws options_invalid */
function generated(options: TaskOptions, client: ReaderClient): NeedleItem[] {
  const unit = options.text('lines') === undefined ? 'tokens' : 'lines'
  const seed = options.integer('seed')
  return options.integers(unit, 1).flatMap((length) =>
    Array.from({ length: options.integer('cases', 1) }, (_, i) => {
      const count = unit === 'lines' ? length : linesFor(length, seed, i, client)
      if (count > MOST_LINES)
        throw invalidOption(`--${unit} takes what ${MOST_LINES} lines fill, since names are different; not ${count} lines.`)
      const { document, question, expected } = linesCase(count, seed, i)
      return {
        id: `${length} ${unit}, case ${i + 1}`,
        groups: { [unit]: String(length) },
        document: VICUNA.before + document,
        question: question + VICUNA.after,
        expected,
      }
    }),
  )
}

/** Lines of a case whose prompt has about this many tokens; at least one. */
function linesFor(tokens: number, seed: number, index: number, { tokenizer }: ReaderClient): number {
  const tokensAt = (count: number): number => {
    const { document, question } = linesCase(Math.min(MOST_LINES, Math.max(1, count)), seed, index)
    return tokenizer.encode(VICUNA.before + document).length + tokenizer.encode(question + VICUNA.after).length
  }
  return Math.max(1, sizeFor(tokens, tokensAt, 20))
}

const ADJECTIVES =
  'amber ancient brave bright calm clever cold crimson curious daring eager early elegant faint fancy fierce gentle giant golden grand happy hidden honest humble icy jolly keen large lively lonely loud lucky mellow merry mighty misty modern narrow noble odd patient plain polite proud quick quiet rapid rare royal rustic shy silent silver simple sleepy small smooth soft solid steady strange sturdy swift tall tender tiny vivid warm wild wise young'.split(
    ' ',
  )
const NOUNS =
  'anchor apple arrow badge basket beacon bell blanket bottle bridge bucket button cabin candle canyon carpet castle chair cherry circle clock cloud coin compass copper cottage cradle desert diamond drum eagle engine falcon feather fence field flute forest fountain garden gate glacier harbor hammer harvest helmet island ivory jacket jewel kettle key ladder lantern lemon letter marble meadow mirror mountain needle ocean orchard paper pebble pillow planet pocket puzzle quilt ribbon river rocket saddle shell shield spoon statue stone sunset table temple thunder tower tunnel valley violin wagon walnut window winter'.split(
    ' ',
  )
const HIGHEST = 50_000

const HEADER =
  "Below is a record of lines I want you to remember. Each line begins with 'line <line index>' and contains a '<REGISTER_CONTENT>' at the end of the line as a numerical value. For each line index, memorize its corresponding <REGISTER_CONTENT>. At the end of the record, I will ask you to retrieve the corresponding <REGISTER_CONTENT> of a certain line index. Now the record start:\n\n"

/** One case of LongChat-Lines: `count` lines with distinct names, and a question about one of them. */
function linesCase(count: number, seed: number, index: number) {
  const random = seededRandom('lines', seed, count, index)
  const names = sampleIndices(ADJECTIVES.length * NOUNS.length, count, random).map(
    (i) => `${at(ADJECTIVES, Math.floor(i / NOUNS.length))}-${at(NOUNS, i % NOUNS.length)}`,
  )
  const values = names.map(() => 1 + Math.floor(random() * HIGHEST))
  const asked = Math.floor(random() * names.length)
  return {
    document: HEADER + names.map((name, i) => `line ${name}: REGISTER_CONTENT is <${at(values, i)}>\n`).join(''),
    question: `\nNow the record is over. Tell me what is the <REGISTER_CONTENT> in line ${at(names, asked)}? I need the number.`,
    expected: String(at(values, asked)),
  }
}

/** Maximum lines of a case: names are distinct. */
const MOST_LINES = ADJECTIVES.length * NOUNS.length

/** A test case as published by LongChat and Giraffe: the whole prompt, and the expected number. */
const CaseSchema = Type.Object({
  prompt: Type.String({ minLength: 1 }),
  expected_number: Type.Integer({ minimum: 0 }),
  num_lines: Type.Optional(Type.Integer({ minimum: 1 })),
})
const isCase = Compile(CaseSchema)

/** Start of the question after the last line of the record. */
const QUESTION = '\nNow the record is over'

/** Reads LongChat-Lines cases ({prompt, expected_number, num_lines}), the first `most` per number of lines. @throws dataset_invalid */
async function published(file: string, most: number): Promise<Pick<NeedleTask, 'items' | 'files'>> {
  const wanted = 'no case: wanted are LongChat\'s {"prompt", "expected_number", "num_lines"} records.'
  const counts = new Map<number, number>()
  const read = await readItems(file, wanted, (value) => {
    if (!isCase.Check(value)) return 'no prompt with an expected_number'
    const count = value.num_lines ?? value.prompt.split('\n').filter((line) => line.startsWith('line ')).length
    const number = (counts.get(count) ?? 0) + 1
    counts.set(count, number)
    return number <= most ? toItem(value, count, number) : undefined
  })
  return { ...read, files: [read] }
}

function toItem({ prompt, expected_number: expected }: Static<typeof CaseSchema>, count: number, number: number): NeedleItem {
  const cut = prompt.lastIndexOf(QUESTION)
  const [record, question] = cut < 0 ? [prompt, ''] : [prompt.slice(0, cut), prompt.slice(cut)]
  return {
    id: `${count} lines, case ${number}`,
    groups: { lines: String(count) },
    document: VICUNA.before + record,
    question: question + VICUNA.after,
    expected: String(expected),
  }
}
