import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { createReaderClient, type ReaderClient } from '../../eval/client/reader.ts'
import { readDataset } from '../../eval/datasets/read.ts'
import { readRunOf } from '../../eval/tasks/runs.ts'
import { taskOptions } from '../../eval/run/options.ts'
import { runTask } from '../../eval/run/run-task.ts'
import { altqa } from '../../eval/tasks/altqa/task.ts'
import { VICUNA } from '../../eval/tasks/documents/generate.ts'
import type { NeedleItem } from '../../eval/tasks/documents/needle.ts'
import { icl } from '../../eval/tasks/icl/task.ts'
import { lines } from '../../eval/tasks/lines/task.ts'
import { lm } from '../../eval/tasks/lm/task.ts'
import { ralm } from '../../eval/tasks/ralm/task.ts'
import { articlesWithQuestions } from '../../eval/tasks/zeroscrolls/read.ts'
import { zeroscrolls } from '../../eval/tasks/zeroscrolls/task.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { preparedItems, spellingClient } from '../helpers/prepared-task.ts'

const PARQUET = 'test/fixtures/datasets'
const ALONE = { methods: 'decoder-only' }

const dir = await mkdtemp(path.join(tmpdir(), 'cepe-published-'))
t.teardown(() => rm(dir, { recursive: true }))
async function file(name: string, records: readonly unknown[]): Promise<string> {
  await writeFile(path.join(dir, name), records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return path.join(dir, name)
}

/** A case as LongChat's files have it. */
function longchatCase(count: number, expected: number) {
  const record = Array.from({ length: count }, (_, i) => `line w${i}: REGISTER_CONTENT is <${i === 1 ? expected : i}>\n`).join('')
  return {
    random_idx: ['w1', 1],
    expected_number: expected,
    num_lines: count,
    prompt: `Now the record start:\n\n${record}\nNow the record is over. Tell me what is the <REGISTER_CONTENT> in line w1? I need the number. `,
  }
}

await t.test("LongChat's cases: the record may be divided, the question never; the first of each length are asked", async (t) => {
  const data = await file('cases.jsonl', [
    longchatCase(3, 2416),
    longchatCase(3, 7),
    longchatCase(3, 8),
    longchatCase(5, 9),
    { prompt: 'no number' },
  ])
  const read = (of: string) => preparedItems<NeedleItem>(lines, { ...ALONE, data: of, cases: '2' })
  const { items, problems } = await read(data)
  t.same(
    items.map(({ id, expected, groups }) => [id, expected, groups['lines']]),
    [
      ['3 lines, case 1', '2416', '3'],
      ['3 lines, case 2', '7', '3'],
      ['5 lines, case 1', '9', '5'],
    ],
  )
  const [first] = items
  t.equal(`${first?.document}${first?.question}`, VICUNA.before + longchatCase(3, 2416).prompt + VICUNA.after, 'nothing is added or lost')
  t.match(first?.question, /^\nNow the record is over/)
  t.match(problems, [{ kind: 'no prompt with an expected_number', places: ['line 5'] }])
  await t.rejects(read(await file('none.jsonl', [{ text: 'x' }])), { code: 'dataset_invalid', message: /wanted are LongChat's/ })
})

await t.test("Giraffe's conversations, from Parquet: places by the row, six rows a question", async (t) => {
  const read = (items: string) => preparedItems<NeedleItem>(altqa, { ...ALONE, data: path.join(PARQUET, 'conversations.parquet'), items })
  const { items } = await read('10')
  t.same(
    items.map(({ id }) => id),
    [
      'question 1, answer start, question at the end',
      'question 1, answer start, question at the start',
      'question 1, answer anywhere, question at the end',
      'question 1, answer anywhere, question at the start',
      'question 1, answer end, question at the end',
      'question 1, answer end, question at the start',
      'question 2, answer start, question at the end',
    ],
  )
  const [end, start] = items
  t.same([end?.document, end?.question, end?.expected], [`${VICUNA.before}w5 w6 w7\nw8 w9 w10\n`, `w20 w21?${VICUNA.after}`, 'w9'])
  t.equal(start?.question, VICUNA.after, 'a question at the start is a part of the document')
  t.equal((await read('1')).items.length, 6)
})

await t.test('both are asked in place of generated ones', async (t) => {
  const client = await createReaderClient({ READER_DIR: await builtFixture(t, 'cepe-tiny-gqa'), READER_CHECKPOINT: '' })
  t.teardown(() => client.close())
  const given = { methods: 'decoder-only', decoderTokens: '100', maxNewTokens: '4' }
  const conversations = taskOptions(altqa, { ...given, data: path.join(PARQUET, 'conversations.parquet') })
  const wiki = await runTask({ task: altqa, options: conversations, client, folder: path.join(dir, 'altqa') })
  const asked = await readRunOf(wiki)
  t.equal(asked.records.length, 7)
  t.match(asked.manifest.subject.files, [{ file: 'conversations.parquet' }])
  const data = await file('few.jsonl', [longchatCase(2, 5)])
  const cases = await runTask({
    task: lines,
    options: taskOptions(lines, { ...given, data, minNewTokens: '1' }),
    client,
    folder: path.join(dir, 'lines'),
  })
  t.match((await readRunOf(cases)).records, [{ id: '2 lines, case 1', results: [{ setting: 'decoder-only', expected: ['5'] }] }])
})

await t.test('classes by number: names of a Parquet file, or words that are given', async (t) => {
  const classes = path.join(PARQUET, 'classes.parquet')
  const train = await file('train.jsonl', [
    { text: 'one', label: 'card_lost' },
    { text: 'two', label: 'card_found' },
  ])
  const read = async (given: Readonly<Record<string, string>>) => {
    const fields = { textField: 'text', labelField: 'label', seeds: '1', items: '100' }
    const { items, problems } = await preparedItems<{ test: { label: string } }>(icl, { ...fields, ...given })
    return { labels: items.map(({ test }) => test.label), problems }
  }
  t.same(new Set((await read({ test: classes, train })).labels), new Set(['card lost', 'card found']), 'the names of the Parquet file')
  const numbered = await file('numbered.jsonl', [
    { text: 'one', label: 0 },
    { text: 'two', label: 1 },
  ])
  t.same((await read({ test: classes, train: numbered, labels: 'bad,good' })).labels.slice(0, 2), ['bad', 'good'])
  const test = await file('test.jsonl', [
    { text: 'a', label: 0 },
    { text: 'b', label: 1 },
  ])
  const unnamed = await read({ test, train: numbered })
  t.same(unnamed.labels, ['0', '1'])
  t.match(unnamed.problems, [{ kind: /number without a word.*--labels/, count: 2, effect: 'kept' }, {}])
  const words = await read({
    test: await file('words.jsonl', [
      { text: 'a', label: 'good' },
      { text: 'b', label: 2 },
    ]),
    train: numbered,
    labels: 'bad,good',
  })
  t.same([words.labels, words.problems[0]?.kind], [['good'], 'label that is none of the 2 classes'])
})

await t.test("NarrativeQA's own records wrap their texts", async (t) => {
  const record = { document: { text: 'a long story' }, question: { text: 'who?' }, answers: [{ text: 'she' }, { text: 'the woman' }] }
  const options = { data: await file('story.jsonl', [record]), set: 'narrative_qa', encoderTokens: '0' }
  const { items } = await preparedItems(zeroscrolls, options)
  t.match(items, [{ example: { document: 'a long story', query: 'who?', answers: ['she', 'the woman'] } }])
})

await t.test('passages and contexts that a task leaves out are problems of its data', async (t) => {
  const passages = path.join(dir, 'passages.tsv')
  await writeFile(passages, `id\ttext\ttitle\n1\t${'word '.repeat(20)}\tA\n2\twithout a title\n1\tthe same id\tB\n`)
  const left = [
    { kind: 'passage that cannot be used (missing column)', count: 1, places: ['line 3'], effect: 'skipped' },
    { kind: 'passage that cannot be used (duplicate id)', count: 1, places: ['line 4'], effect: 'skipped' },
  ]
  const sizes = { contexts: '1', contextTokens: '8', decoderTokens: '16' }
  const full = { ...sizes, methods: 'full-context' }
  t.same((await preparedItems(lm, { ...full, scoredTokens: '4', data: passages })).problems, left)
  const questions = await file('of-passages.jsonl', [{ id: 'q', question: 'which word', answer: 'word', passage_id: '1' }])
  const long = await preparedItems(altqa, { ...ALONE, passages, questions, kinds: 'free-form', characters: '90,4000' })
  t.match(long.problems, [
    ...left,
    { kind: /^documents are shorter, since all passages have \d+ characters/, places: ['4000 characters'], effect: 'kept' },
  ])
  const { files } = await articlesWithQuestions(passages, questions)
  t.same(files[0]?.problems, left)

  const data = await file('contexts.jsonl', [
    { text: 'x'.repeat(16), ctxs: [{ title: 'no text' }, { text: 'y'.repeat(8), score: '1.5' }] },
    { text: 'x'.repeat(16), ctxs: [{ text: 'y'.repeat(8), score: 'high' }] },
  ])
  const { items, problems } = await preparedItems<{ contexts: unknown[] }>(ralm, { ...full, queryTokens: '4', data })
  t.same(
    items.map(({ id, contexts }) => [id, contexts]),
    [['line 1', [{ ids: new Array(8).fill(121), score: 1.5 }]]],
  )
  t.same(problems, [
    { kind: 'context without text or ids', count: 1, places: ['line 1'], effect: 'kept' },
    { kind: 'context whose score is no number', count: 1, places: ['line 2'], effect: 'skipped' },
  ])
  const asked = await readDataset(
    await file('scores.jsonl', [
      {
        question: 'who',
        answer: 'Ada',
        ctxs: [
          { text: 'Ada', score: '2.5' },
          { text: 'Bob', score: 'high' },
        ],
      },
    ]),
  )
  t.same(
    asked.questions[0]?.passages?.map(({ score }) => score),
    [2.5, undefined],
  )
  t.match(asked.problems, [{ kind: 'passage whose score is no number', places: ['line 1'], effect: 'kept' }])
})

await t.test("a row that is skipped counts among Giraffe's six of a question", async (t) => {
  const row = (document: string) => ({ conversations: [{ value: `${document}\nwho?` }, { value: 'Ada' }] })
  const data = await file('torn.jsonl', [row('\ud800'), row('a'), { conversations: [] }, row('b')])
  const { items } = await preparedItems(altqa, { ...ALONE, data })
  t.same(
    items.map(({ id }) => id),
    ['question 1, answer start, question at the start', 'question 1, answer anywhere, question at the start'],
  )
})

await t.test('in-context classes without an example leave no place of the demonstrations empty', async (t) => {
  const labelled = (...pairs: string[]) => pairs.map((pair) => ({ text: pair, label: pair.slice(0, 1) }))
  const test = await file('test-labels.jsonl', labelled('b2', 'c1'))
  const drawn = async (train: readonly unknown[]) => {
    const client = { ...spellingClient(), reader: { score: () => Promise.resolve([[-1], [-2], [-3]]) } } as unknown as ReaderClient
    const given = { test, train: await file('train-labels.jsonl', train), decoderShots: '1', encoderShots: '2', oracle: '0', seeds: '0' }
    const { items } = await preparedItems(icl, { ...given, textField: 'text', labelField: 'label' }, client)
    const [item] = items
    const [answer] = (await item?.ask()) ?? []
    return answer?.demonstrations?.length
  }
  t.equal(await drawn(labelled('a1', 'a2', 'b1', 'b3', 'c1')), 3, 'the only c is a test item')
  await t.rejects(drawn(labelled('b2', 'c1')), { code: 'unprocessable', message: /No training example is left/ })
})
