import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { splitDocument } from '../../src/text/document/plan-document.ts'
import { MODES } from '../../src/text/plan.ts'
import type { Task } from '../../eval/run/contract.ts'
import { altqa } from '../../eval/tasks/altqa/task.ts'
import { choices } from '../../eval/tasks/choices/task.ts'
import { reachingEncoder } from '../../eval/tasks/documents/generate.ts'
import type { NeedleItem } from '../../eval/tasks/documents/needle.ts'
import { lines } from '../../eval/tasks/lines/task.ts'
import { lm } from '../../eval/tasks/lm/task.ts'
import { openDomainQa } from '../../eval/tasks/open-domain-qa/scores.ts'
import { passkey } from '../../eval/tasks/passkey/task.ts'
import { ralm } from '../../eval/tasks/ralm/task.ts'
import { documentHead, questionText, readScrolls, type ScrollsSet, scrollsSets } from '../../eval/tasks/zeroscrolls/read.ts'
import { zeroscrolls } from '../../eval/tasks/zeroscrolls/task.ts'
import { preparedItems, spellingClient } from '../helpers/prepared-task.ts'

const SETS = scrollsSets() as Record<'qasper' | 'narrative_qa' | 'quality' | 'gov_report' | 'summ_screen_fd', ScrollsSet>

async function fileOf(t: Test, records: readonly object[]): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-scrolls-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const file = path.join(dir, 'set.jsonl')
  await writeFile(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return file
}

t.test('a document reaches decoder and encoder exactly once', (t) => {
  const documentIds = Array.from({ length: 1000 }, (_, i) => i)
  const { promptIds, contextIds } = splitDocument({
    documentIds,
    questionIds: [-1, -2],
    decoderTokens: 102,
    encoderTokens: Infinity,
    chunkTokens: 256,
  })
  t.same([...contextIds.flat(), ...promptIds], [...documentIds, -1, -2])
  t.same(
    contextIds.map((ids) => ids.length),
    [132, 256, 256, 256],
    'the remainder is the earliest text',
  )
  const bounded = splitDocument({ documentIds, questionIds: [-1], decoderTokens: 101, encoderTokens: 300, chunkTokens: 256 })
  t.same(bounded.contextIds.flat(), documentIds.slice(600, 900))
  t.same(splitDocument({ documentIds, questionIds: [-1], decoderTokens: 1, encoderTokens: 0, chunkTokens: 9 }), {
    promptIds: [-1],
    contextIds: [],
  })
  t.throws(() => splitDocument({ documentIds, questionIds: [1, 2, 3], decoderTokens: 2, encoderTokens: 0, chunkTokens: 9 }), {
    code: 'unprocessable',
  })
  t.end()
})

t.test("SCROLLS's files: query, document, references; choices by letter; what cannot be asked is named", async (t) => {
  const qasper = await readScrolls(
    await fileOf(t, [
      { id: 'a', input: 'Which?\n\nFirst.\n\nSecond.', output: 'this' },
      { id: 'a', input: 'Which?\n\nFirst.\n\nSecond.', output: 'that' },
      { id: 'b', input: 'no blank line', output: 'x' },
      { id: 'c', input: 'Which?\n\nText.' },
    ]),
    SETS.qasper,
  )
  const asked = { query: 'Which?', document: 'First.\n\nSecond.' }
  t.same(
    qasper.items,
    [
      { ...asked, id: 'a', answers: ['this'] },
      { ...asked, id: 'a, row 2', rowOf: 'a', answers: ['that'] },
    ],
    'rows are scored each',
  )
  const narrative = await readScrolls(
    await fileOf(t, [
      { id: 'a', input: 'Who?\n\nText.', output: 'this' },
      { id: 'a', input: 'Who?\n\nText.', output: 'that' },
    ]),
    SETS.narrative_qa,
  )
  t.same(
    narrative.items.map(({ answers }) => answers),
    [['this', 'that']],
    'references of one question',
  )
  t.same(
    qasper.files[0]?.problems.map(({ kind }) => kind),
    ['no query', 'no answer'],
  )
  const data = await fileOf(t, [{ id: 'q', input: 'Who?\n\n (A) one\n (B) two\n (C) three\n (D) four\n\n\nThe story.', output: 'three' }])
  const quality = await readScrolls(data, SETS.quality)
  t.match(quality.items, [{ query: 'Who?\n\n(A) one\n(B) two\n(C) three\n(D) four', document: '\nThe story.', answers: ['C'] }])
  await t.rejects(readScrolls(await fileOf(t, [{ question: 'nq line', answer: ['x'] }]), SETS.qasper), { code: 'dataset_invalid' })
  const accuracyOf = async (output: string) => {
    const options = { data, set: 'quality', encoderTokens: '0' }
    const { items } = await preparedItems(zeroscrolls, options, spellingClient(output))
    return (await Promise.all(items.map(({ ask }) => ask()))).flat().map(({ scores }) => scores['accuracy'])
  }
  for (const [output, right] of [
    ['C', 1],
    ['(B) two', 0],
    ['The answer is C.', 1],
    ['none', 0],
  ] as const)
    t.same(await accuracyOf(output), [right], output)
})

t.test('generated cases hold what they ask for, once, and depend on their seed alone', async (t) => {
  const alone = { methods: 'decoder-only' }
  const casesOf = async (seed: string) => (await preparedItems<NeedleItem>(lines, { ...alone, lines: '30', cases: '3', seed })).items
  const record = (await casesOf('1'))[2]
  t.ok(record)
  t.same((await casesOf('1'))[2], record)
  t.notSame((await casesOf('2'))[2]?.document, record?.document)
  const name = /in line (\S+)\?/.exec(record?.question ?? '')?.[1] ?? ''
  t.equal(record?.document.split(`line ${name}: REGISTER_CONTENT is <${record.expected}>`).length, 2)
  t.equal(new Set(record?.document.match(/^line \S+:/gm)).size, 30, 'names are different')

  const keys = await preparedItems<NeedleItem>(passkey, { ...alone, tokens: '3000', distances: '5', tries: '2' })
  t.equal(new Set(keys.items.map(({ expected }) => expected)).size, 10)
  for (const { document, question, expected, groups } of keys.items) {
    const prompt = document + question
    const line = `${expected} is the pass key.`
    t.equal(document.split(expected).length, 3, 'the key stands there twice, in one sentence')
    t.ok(Math.abs(prompt.length - 3000) <= 1, `${prompt.length} tokens`)
    const behind = prompt.length - document.lastIndexOf(line) - line.length
    const distance = Number(groups['distance'])
    // The nearest key stands directly before the question.
    t.ok(Math.abs(behind - Math.max(distance, question.length + 1)) <= 1, `${behind} tokens behind the key, not ${distance}`)
  }
})

t.test('the effective window ends before the first distance at which keys are lost', (t) => {
  const points = [90, 100, 20, 10, 60].map((mean, i) => ({
    ...{ group: 'distance', value: String(100 * (i + 1)), n: 10 },
    scores: { accuracy: { mean, low: mean, high: mean, n: 10 } },
  }))
  const windowOf = (groups: typeof points) => passkey.derived?.[0]?.of({ groups })
  t.equal(windowOf(points), 300)
  t.equal(windowOf([...points].reverse()), 300, 'whatever their order')
  t.equal(windowOf(points.slice(3)), 0)
  t.equal(windowOf([]), undefined)
  t.end()
})

t.test('prompts to the letter: GovReport has its own opening, the other sets have none', (t) => {
  t.equal(
    documentHead(SETS.gov_report) + 'TEXT' + questionText(SETS.gov_report, '', false),
    'Report:\nTEXT\n\nInstruction: You are given a report by a government agency. Write a one-page summary of the report.\nSummary:\n',
  )
  t.equal(
    documentHead(SETS.summ_screen_fd) + 'TEXT' + questionText(SETS.summ_screen_fd, '', false),
    'Episode Script:\nTEXT\n\nYou are given a script of a TV episode. Summarize the episode in a paragraph.\n\nSummary:\n',
  )
  t.ok(questionText(SETS.qasper, 'Which?', true).startsWith('... [The rest of the article is omitted]\n\nYou are given a scientific'))
  t.end()
})

t.test('settings that give the encoder nothing new are told from the others', (t) => {
  const read: number[] = []
  const documents = function* (...lengths: number[]) {
    for (const document of lengths) {
      read.push(document)
      yield { document, question: 12 }
    }
  }
  const of = (tokens: number[], ...lengths: number[]) => reachingEncoder(tokens, documents(...lengths), (length) => length, 112)
  t.same(of([0, 50, 200], 90, 100), { reached: [0], idle: [50, 200] }, 'every document stands in the decoder')
  t.same(of([0, 50, 200], 90, 140), { reached: [0, 50], idle: [200] }, '40 tokens at most for the encoder')
  t.same(of([Infinity], 100), { reached: [], idle: [Infinity] })
  read.length = 0
  t.same(of([0, 50, 200], 400, 90, 90), { reached: [0, 50, 200], idle: [] })
  t.same(read, [400], 'no more documents are read than it takes')
  t.end()
})

t.test('altered numbers: near years, as many digits, whole tokens; paragraphs at their position', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-altqa-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const [passages, questions] = [path.join(dir, 'passages.tsv'), path.join(dir, 'questions.jsonl')]
  const others = Array.from({ length: 40 }, (_, i) => `o${i}\tother ${'x'.repeat(50)}\tTown ${i}`)
  await writeFile(passages, ['id\ttext\ttitle', 'g\tIn 1815, not 18150 or 1,815; 1815. They were 70.\tGold', ...others, ''].join('\n'))
  const asked = Array.from({ length: 30 }, (_, i) => ({ id: `${i}`, question: `q${i}`, answer: i % 2 ? '70' : '1815', passage_id: 'g' }))
  await writeFile(questions, asked.map((question) => `${JSON.stringify(question)}\n`).join(''))
  const options = { passages, questions, kinds: 'altered', characters: '1500', items: '30', methods: 'decoder-only' }
  const { items } = await preparedItems<NeedleItem>(altqa, options)
  t.equal(items.length, 30 * 6)
  for (const { cluster, document, expected, groups } of items) {
    const [year, count] = Number(cluster) % 2 ? ['1815', expected] : [expected, '70']
    t.ok(year !== count && document.includes(`In ${year}, not 18150 or 1,815; ${year}. They were ${count}.`), expected)
    if (year === expected) t.ok(expected !== '1815' && Math.abs(Number(expected) - 1815) <= 10)
    else t.match(expected, /^(?!70)[1-9]\d$/)
    t.ok(document.length <= 1900)
    const share = document.indexOf('In ') / document.length
    if (groups['answer_place'] === 'start') t.ok(share < 0.3, `start: ${share}`)
    if (groups['answer_place'] === 'end') t.ok(share > 0.8, `end: ${share}`)
  }
})

t.test('options list the words that the tasks take', async (t) => {
  const words: readonly (readonly [task: Task, flag: string, option: string])[] = [
    [lm, '--methods', 'methods'],
    [ralm, '--methods', 'methods'],
    [zeroscrolls, '--set', 'set'],
    [choices, '--set', 'set'],
  ]
  for (const [task, flag, option] of words) {
    const listed = task.options.find(({ flags }) => flags.startsWith(`${flag} `))?.description ?? ''
    await t.rejects(
      preparedItems(task, { data: 'none', [option]: 'other' }),
      { message: `${flag} takes ${listed}, not "other".` },
      task.name,
    )
  }
  t.equal(openDomainQa.options.find(({ flags }) => flags.startsWith('--modes '))?.description, MODES.join(', '))
})
