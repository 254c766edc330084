import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { readDataset, readPassages, withPassages } from '../../eval/datasets/read.ts'
import { SKIPS } from '../helpers/skips.ts'

async function file(t: Test, name: string, content: string | Buffer): Promise<string> {
  const target = path.join(t.testdir(), name)
  await writeFile(target, content)
  return target
}
function lines(...records: unknown[]): string {
  return records.map((record) => (typeof record === 'string' ? record : JSON.stringify(record))).join('\n') + '\n'
}

t.test('NQ-open lines', async (t) => {
  const { questions, problems } = await readDataset(
    await file(
      t,
      'nq.jsonl',
      lines({ question: 'who?', answer: ['Ann', 'Ann B', 'Ann'] }, { question: 'when', answer: ['14 December 1972'] }),
    ),
  )
  t.match(questions, [
    { id: 'line 1', question: 'who?', answers: ['Ann', 'Ann B'], answerable: true, groups: { answer_type: 'name' } },
    { groups: { answer_type: 'date' } },
  ])
  t.same(problems, [])
})

t.test('FlashRAG lines', async (t) => {
  const record = { id: 'test_0', question: 'who?', golden_answers: ['Ann', 'Ann B'], metadata: { split: 'test' } }
  const { questions, problems } = await readDataset(
    await file(t, 'test.jsonl', lines(record, { id: 'test_1', question: 'when', golden_answers: [] })),
  )
  t.match(questions, [{ id: 'test_0', question: 'who?', answers: ['Ann', 'Ann B'], answerable: true }])
  t.equal(questions.length, 1)
  t.match(problems, [{ kind: 'no answer', places: ['line 2'] }])
})

t.test('TriviaQA unfiltered JSON, pretty-printed and packed', async (t) => {
  const document = JSON.stringify(
    {
      Domain: ['[', '"Data"'],
      Data: [
        {
          Question: 'Which "city", {x}?',
          QuestionId: 'tc_1',
          Answer: { Value: 'Paris', Aliases: ['Paris', 'City of Light'], NormalizedAliases: ['paris'] },
        },
        { Question: 'b', QuestionId: 'tc_2', Answer: { Value: '7' } },
      ],
      Version: 1,
    },
    null,
    4,
  )
  const expected = [
    { id: 'tc_1', question: 'Which "city", {x}?', answers: ['Paris', 'City of Light'] },
    { id: 'tc_2', answers: ['7'], groups: { answer_type: 'number' } },
  ]
  t.match((await readDataset(await file(t, 'triviaqa.json', document))).questions, expected)
  t.match((await readDataset(await file(t, 'triviaqa.json.gz', gzipSync(JSON.stringify(JSON.parse(document)))))).questions, expected)
  const packed = gzipSync(document)
  t.match((await readDataset(await file(t, 'packed.json', packed))).questions, expected, 'by its content, whatever its name')
  await t.rejects(readDataset(await file(t, 'cut.json.gz', packed.subarray(0, packed.length - 12))), {
    code: 'dataset_invalid',
    message: /cut\.json\.gz cannot be read: The gzip stream is damaged or cut off/,
  })
  const bomb = gzipSync(`{"question":"${'a'.repeat(1000)}","answer":["a"]}\n`.repeat(80_000))
  await t.rejects(readDataset(await file(t, 'bomb.jsonl.gz', bomb)), { code: 'payload_too_large' })
})

/** A record as Hugging Face's trivia_qa has it. */
const ALIASED = {
  question: 'Which city?',
  question_id: 'tc_1',
  question_source: 'x',
  entity_pages: { title: [], wiki_context: [] },
  answer: { value: 'Paris', aliases: ['Paris', 'City of Light'], normalized_aliases: ['paris'], type: 'WikipediaEntity' },
}

t.test("Hugging Face's TriviaQA: the value first, then its aliases; an answer without either is none", async (t) => {
  const records = [
    ALIASED,
    { question: 'b', question_id: 'tc_2', answer: { value: null, aliases: [] } },
    { question: 'c', answer: { text: 'x' } },
  ]
  const expected = [{ id: 'tc_1', question: 'Which city?', answers: ['Paris', 'City of Light'], groups: { answer_type: 'name' } }]
  for (const [name, content] of [
    ['hf.jsonl', lines(...records)],
    ['hf.json', JSON.stringify(records)],
  ] as const) {
    const { questions, problems } = await readDataset(await file(t, name, content))
    t.match(questions, expected)
    t.equal(questions.length, 1)
    t.match(problems, [{ kind: 'no answer', count: 2 }])
  }
  t.match((await readDataset('test/fixtures/datasets/triviaqa.parquet')).questions, [
    { id: 'tc_1', question: 'Which city?', answers: ['Paris', 'City of Light'] },
    { id: 'tc_2', answers: ['7'] },
  ])
  // 0.1 of 32 bits is not 0.10000000149011612.
  t.same(
    (await readDataset('test/fixtures/datasets/numbers.parquet')).questions.map(({ answers }) => answers),
    [['0.1'], ['0.7', '2.5'], ['1.15'], ['2024-05-31']],
  )
})

t.test('a JSON list in a text is the list, in every field of answers; another text is itself', async (t) => {
  const { questions, problems } = await readDataset(
    await file(
      t,
      'lists.jsonl',
      lines(
        { question: 'a', answers: '["x", "y"]' },
        { question: 'b', answer: '["x"]' },
        { question: 'c', golden_answers: '[1972]' },
        { question: 'd', answers: '[Untitled]' },
        { question: 'e', answers: '{"x": 1}' },
        { question: 'f', answers: '[]' },
      ),
    ),
  )
  t.same(
    questions.map(({ answers }) => answers),
    [['x', 'y'], ['x'], ['1972'], ['[Untitled]'], ['{"x": 1}']],
  )
  t.match(problems, [{ kind: 'no answer', places: ['line 6'] }])
  const table = await file(t, 'lists.tsv', 'question\tanswers\nwho?\t"[""Ann"", ""Ann B""]"\n')
  t.match((await readDataset(table)).questions, [{ answers: ['Ann', 'Ann B'] }])
  const torn = await file(t, 'torn.tsv', 'question\tanswers\n"what\tx\nwho"\ty\nwhen\tz\n"how\nmuch"\tw\n')
  const read = await readDataset(torn)
  t.match(read.questions, [{ question: 'when' }, { question: 'how\nmuch' }], 'a quote that is not closed joins no two records')
  t.match(read.problems, [{ kind: 'not valid JSON', count: 1, places: ['line 3'] }])
})

t.test('PopQA TSV: answers are a JSON list inside CSV quoting', async (t) => {
  const table =
    'id\tsubj\tprop\tobj\ts_pop\to_pop\tquestion\tpossible_answers\n4222362\tG. R.\toccupation\tpolitician\t142\t25692\tWhat is G. R.\'s occupation?\t"[""politician"", ""pol, ""]"\n7\ta\tauthor\tb\tx\ty\tWho?\t"[]"\n'
  const { questions, problems } = await readDataset(await file(t, 'popQA.tsv', table))
  t.match(questions, [
    {
      id: '4222362',
      question: "What is G. R.'s occupation?",
      answers: ['politician', 'pol,'],
      groups: { relation: 'occupation', popularity: '10^2 - 10^3', answer_type: 'phrase' },
    },
  ])
  t.match(problems, [{ kind: 'no answer', count: 1, places: ['line 3'], effect: 'skipped' }])
})

t.test('CEPE, FiD, Contriever and DPR records with passages', async (t) => {
  const content = JSON.stringify([
    { question: 'a', answer: [['x', 'y'], ['z']], docs: [{ title: 'T', text: 'one' }] },
    {
      question: 'b',
      answers: ['x'],
      ctxs: [
        { id: 'p9', title: 'T', text: 'two', score: '1.25', hasanswer: true },
        { id: 3, title: null, text: 'three', score: 0.5, has_answer: false },
      ],
    },
    { question: 'c', answer: 'x', ctxs: [] },
  ])
  const { questions } = await readDataset(await file(t, 'ctxs.json', content))
  t.match(questions, [
    { answers: ['x', 'y', 'z'], passages: [{ id: '1', title: 'T', text: 'one' }] },
    {
      passages: [
        { id: 'p9', score: 1.25 },
        { id: '3', title: '', score: 0.5 },
      ],
    },
    { answers: ['x'], passages: [] },
  ])
})

t.test('bad records are counted, named and left out', async (t) => {
  const content = lines(
    { question: 'good', answer: 7 },
    'not json',
    '[1]',
    { answer: ['x'] },
    { question: ' ', answer: ['x'] },
    { question: 'no answer' },
    { question: 'blank answer', answer: ['', ' '] },
    { question: 'odd answer', answer: { a: 7 } },
    { question: 'odd ctxs', answer: 'x', ctxs: ['p1'] },
    { question: 'Good ?', answer: ['y'] },
    { question: 'half \ud83d', answer: 'x' },
    { question: 'half answer', answer: ['x', '\ude00'] },
    { question: 'python', answers: "['Ann', 'Ann B']" },
    { question: 'numpy', answers: "['Ann' 'Ann B']" },
    {
      question: 'blank passage',
      answer: 'x',
      ctxs: [
        { title: '', text: ' ' },
        { title: '', text: 'p' },
      ],
    },
  )
  const { questions, problems } = await readDataset(await file(t, 'bad.jsonl', content))
  t.same(
    questions.map(({ question }) => question),
    ['good', 'blank passage'],
  )
  t.equal(questions[1]?.passages?.length, 1)
  t.same(questions[0]?.answers, ['7'], 'a year or a count may be written as a number')
  t.same(
    problems.map(({ kind, count, places, effect }) => [kind, count, places, effect]),
    [
      ['not valid JSON', 1, ['line 2'], 'skipped'],
      ['not an object', 1, ['line 3'], 'skipped'],
      ['no question', 2, ['line 4', 'line 5'], 'skipped'],
      ['no answer', 3, ['line 6', 'line 7', 'line 8'], 'skipped'],
      ['ctxs that are not passages', 1, ['line 9'], 'skipped'],
      ['duplicate question', 1, ['line 10'], 'skipped'],
      ['half of a surrogate pair', 2, ['line 11', 'line 12'], 'skipped'],
      ['list of answers that is not JSON', 2, ['line 13', 'line 14'], 'skipped'],
      ['passage without text', 1, ['line 15'], 'kept'],
    ],
  )

  const written = ['{"id": 9007199254740993, "question": "a", "answer": "x"}', '{"question": "b", "answers": ["x", 90071992547409931]}']
  const exact = ['{"id": "9007199254740993", "question": "c", "answer": 1.5e9}', '{"id": 9007199254740991, "question": "d", "answer": "x"}']
  const numbers = await readDataset(await file(t, 'numbers.jsonl', [...written, ...exact].join('\n')))
  t.match(numbers.questions, [{ id: '9007199254740993', answers: ['1500000000'] }, { id: '9007199254740991' }])
  t.match(numbers.problems, [{ kind: 'number that JSON rounds: write it as a string', places: ['line 1', 'line 2'] }])
})

t.test('a line is a line, and no letter of another encoding is replaced', async (t) => {
  const answer = ['x']
  const latin = Buffer.from('{"question": "\u00e9", "answer": ["x"]}\n', 'latin1')
  const content = Buffer.concat([latin, Buffer.from(lines({ question: 'a\u2028b', answer }))])
  const { questions, problems } = await readDataset(await file(t, 'lines.jsonl', content))
  t.match(questions, [{ id: 'line 2', question: 'a\u2028b', answers: ['x'] }])
  t.match(problems, [{ kind: 'not valid JSON', count: 1, places: ['line 1'] }])
  const table = await file(t, 'table.tsv', Buffer.from('question\tpossible_answers\n\u00e9\tx\n', 'latin1'))
  await t.rejects(readDataset(table), { code: 'dataset_invalid', message: /not valid for encoding utf-8/ })
})

t.test('files as a whole that cannot be used are refused', async (t) => {
  await t.rejects(readDataset(await file(t, 'none.jsonl', lines({ question: 'x' }))), {
    code: 'dataset_invalid',
    message: /no question that can be asked: 1 x no answer \(line 1\)/,
  })
  await t.rejects(readDataset(await file(t, 'none.json', '[]')), { message: /can be asked: it holds no record\./ })
  await t.rejects(readDataset(await file(t, 'empty.jsonl', ' \n')), { code: 'dataset_invalid', message: /is empty/ })
  const utf16 = await file(t, 'utf16.txt', Buffer.from('\ufeffWho?', 'utf16le'))
  await t.rejects(readDataset(utf16), { code: 'dataset_invalid', message: `${utf16} is empty, or is not UTF-8.` })
  await t.rejects(readDataset(await file(t, 'cut.json', '{\n"Data": [{"Question": "a"},')), {
    code: 'dataset_invalid',
    message: /array is cut off/,
  })
  await t.rejects(readDataset(await file(t, 'other.json', '{\n"Questions": []}')), { code: 'dataset_invalid', message: /no "Data"/ })
  await t.rejects(readDataset('/nowhere/questions.jsonl'), { code: 'dataset_invalid', message: /nowhere/ })
})

t.test('unanswerable questions need no answers, and keep none', async (t) => {
  const { questions } = await readDataset(await file(t, 'no-answer.jsonl', lines({ question: 'a' }, { question: 'b', answer: ['x'] })), {
    answerable: false,
  })
  t.match(questions, [
    { answers: [], answerable: false },
    { answers: [], answerable: false },
  ])
})

t.test('passages from another file are joined by question; too few are named', async (t) => {
  const questions = await readDataset(
    await file(
      t,
      'q.jsonl',
      lines({ question: 'Who  is it?', answer: 'x' }, { question: 'short', answer: 'x' }, { question: 'missing', answer: 'x' }),
    ),
  )
  const passages = [
    { title: 't', text: '1' },
    { title: 't', text: '2' },
  ]
  const records = [
    { question: 'who is it?', ctxs: [] },
    { question: 'who is it', ctxs: [...passages, { text: ' ' }] },
    { question: 'short', ctxs: passages.slice(1) },
    { question: 'bare' },
    'torn',
  ]
  const { byQuestion, problems } = await readPassages(await file(t, 'p.jsonl', lines(...records)), 10)
  t.match(problems, [
    { kind: 'passage without text', places: ['line 2'], effect: 'kept' },
    { kind: 'question whose earlier passages are not used', places: ['line 2'], effect: 'kept' },
    { kind: 'question without passages', places: ['line 4'], effect: 'skipped' },
    { kind: 'not valid JSON', places: ['line 5'], effect: 'skipped' },
  ])
  const joined = withPassages(questions, byQuestion, 2)
  t.same(
    joined.questions.map(({ question }) => question),
    ['Who  is it?'],
  )
  t.match(joined.problems, [
    { kind: 'fewer than 2 passages', places: ['line 2'] },
    { kind: 'no passages for the question', places: ['line 3'] },
  ])
  t.throws(() => withPassages(questions, byQuestion, 20), {
    code: 'dataset_invalid',
    message: /has 20 passages \(the most is 2\): lower --k to 2/,
  })
})

const shared = path.resolve('../shared/data')

t.test("NQ-open's real file", { skip: existsSync(shared) ? false : SKIPS.shared }, async (t) => {
  const { questions, problems, sha256 } = await readDataset(path.join(shared, 'nq-open/NQ-open.dev.jsonl'))
  t.equal(questions.length + problems.reduce((sum, { count }) => sum + count, 0), 3610)
  t.equal(questions.length, 3610)
  t.match(questions[0], { question: 'when was the last time anyone was on the moon', answers: ['14 December 1972 UTC', 'December 1972'] })
  t.equal(sha256.length, 64)
})

t.test('real questions with their own passages', { skip: existsSync(shared) ? false : SKIPS.shared }, async (t) => {
  const { questions } = await readDataset(path.join(shared, 'squad-open-a/questions.jsonl'))
  t.ok(questions.length > 4000)
  t.match(questions[0], { id: '5725b33f6a3fe71400b8952d', goldPassage: '1', answers: ['October 1973', 'October', '1973'] })
})
