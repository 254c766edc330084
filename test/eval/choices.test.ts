import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { createReaderClient } from '../../eval/client/reader.ts'
import { taskOptions } from '../../eval/run/options.ts'
import { choices } from '../../eval/tasks/choices/task.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { preparedItems } from '../helpers/prepared-task.ts'

const dir = t.testdir()
async function file(name: string, records: readonly object[]): Promise<string> {
  await writeFile(path.join(dir, name), records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return path.join(dir, name)
}

interface Choices {
  readonly choices: readonly { readonly prompt: string; readonly continuation: string }[]
  readonly right: number
}
const read = (data: string, set: string) => preparedItems<Choices>(choices, { data, set })

const RACE = {
  example_id: 'high1.txt',
  article: 'It rains.',
  question: 'What falls?',
  options: ['Snow', 'Rain ', 'Sand', 'Ice'],
  answer: 'B',
}
/** A record as published, the text before each choice, the choices, and the right one, written by hand. */
const PUBLISHED: readonly (readonly [
  set: string,
  record: object,
  prompts: readonly string[],
  choices: readonly string[],
  right: number,
])[] = [
  [
    'boolq',
    { question: 'is water wet', passage: 'Water is wet.', answer: true },
    ['Water is wet.\nQuestion: is water wet?\nAnswer:'],
    [' no', ' yes'],
    1,
  ],
  ['boolq', { question: 'q', passage: 'p', answer: 'False' }, ['p\nQuestion: q?\nAnswer:'], [' no', ' yes'], 0],
  ['piqa', { goal: 'Dry it.', sol1: 'Sun.', sol2: 'Rain.', label: 0 }, ['Question: Dry it.\nAnswer:'], [' Sun.', ' Rain.'], 0],
  ['race', RACE, ['Article: It rains.\n\nQuestion: What falls?\nAnswer:'], [' Snow', ' Rain', ' Sand', ' Ice'], 1],
  [
    'winogrande',
    { sentence: 'Ann thanked Eve because _ had helped.', option1: 'Ann', option2: 'Eve', answer: '2' },
    ['Ann thanked Eve because Ann', 'Ann thanked Eve because Eve'],
    [' had helped.'],
    1,
  ],
]

await t.test('published records become prompts and choices', async (t) => {
  for (const [set, record, prompts, continuations, right] of PUBLISHED) {
    const { items } = await read(await file(`${set}.jsonl`, [record]), set)
    const [item] = items
    t.same(new Set(item?.choices.map(({ prompt }) => prompt)), new Set(prompts), set)
    t.same(new Set(item?.choices.map(({ continuation }) => continuation)), new Set(continuations), set)
    t.equal(item?.right, right, set)
  }
  const { items } = await read(await file('race.jsonl', [RACE, { ...RACE, question: 'Why?' }]), 'race')
  t.same(
    items.map(({ cluster }) => cluster),
    ['high1.txt', 'high1.txt'],
    'questions about one article are one cluster',
  )
})

await t.test('a record without an answer or choices is counted, and never scored', async (t) => {
  const records = [
    { goal: 'a', sol1: 'b', sol2: 'c', label: -1 },
    { goal: 'a', sol1: 'b', sol2: ' ', label: 1 },
    7,
    { goal: 'a', sol1: 'b', sol2: 'c', label: '1' },
  ]
  const { items, problems } = await read(await file('piqa.jsonl', records as object[]), 'piqa')
  t.same(
    items.map(({ id }) => id),
    ['line 4'],
  )
  t.match(problems, [
    { kind: 'no answer', places: ['line 1'] },
    { kind: 'no choices', places: ['line 2', 'line 3'] },
  ])
  await t.rejects(read(await file('none.jsonl', [{ text: 'x' }]), 'boolq'), { code: 'dataset_invalid', message: /no item of boolq/ })
})

await t.test('a choice is scored by its own tokens after its own prompt', async (t) => {
  const client = await createReaderClient({ READER_DIR: await builtFixture(t, 'cepe-tiny-gqa'), READER_CHECKPOINT: '' })
  t.teardown(() => client.close())
  await t.rejects(choices.prepare(taskOptions(choices, {}), client), { code: 'options_invalid', message: /--data is missing/ })
  const sentence = { sentence: 'w9 w8 _ w12 w13', option1: 'w20', option2: 'w21', answer: '1' }
  const data = await file('winogrande.jsonl', [sentence])
  const prepared = await choices.prepare(taskOptions(choices, { data, set: 'winogrande' }), client)
  const [item] = prepared.items
  if (item === undefined) throw new Error('no item')
  const [answer] = await item.ask()
  const encode = (text: string) => client.tokenizer.encode(text, { bos: true })
  const sums: number[] = []
  for (const name of ['w20', 'w21']) {
    const ids = encode(`w9 w8 ${name} w12 w13`)
    const [logprobs = []] = await client.reader.score({
      contexts: [],
      contextTokens: 1,
      promptIds: ids.slice(0, -2),
      continuations: [ids.slice(-2)],
    })
    sums.push(logprobs.reduce((sum, value) => sum + value, 0))
  }
  t.equal(answer?.scores['sum'], (sums[0] ?? 0) >= (sums[1] ?? 0) ? 1 : 0)
  t.same(answer?.asked.decoder, [encode('w9 w8 w20 w12 w13'), encode('w9 w8 w21 w12 w13')])
})
