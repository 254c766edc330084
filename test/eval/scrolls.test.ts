import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { splitDocument } from '../../src/text/document/plan-document.ts'
import { otherNumber, insertParagraph, POSITIONS, replaceNumber } from '../../eval/tasks/altqa/generate.ts'
import { reachingEncoder } from '../../eval/tasks/documents/generate.ts'
import { linesCase } from '../../eval/tasks/lines/task.ts'
import { effectiveWindow, passkeyCase } from '../../eval/tasks/passkey/task.ts'
import { readScrolls } from '../../eval/tasks/zeroscrolls/read.ts'
import { documentHead, questionText, SETS } from '../../eval/tasks/zeroscrolls/sets.ts'
import { firstLetter } from '../../eval/tasks/zeroscrolls/task.ts'
import { seededRandom } from '../../base/random.ts'

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
    qasper.problems.map(({ kind }) => kind),
    ['no query', 'no answer'],
  )
  const quality = await readScrolls(
    await fileOf(t, [{ id: 'q', input: 'Who?\n\n (A) one\n (B) two\n (C) three\n (D) four\n\n\nThe story.', output: 'three' }]),
    SETS.quality,
  )
  t.match(quality.items, [{ query: 'Who?\n\n(A) one\n(B) two\n(C) three\n(D) four', document: '\nThe story.', answers: ['C'] }])
  await t.rejects(readScrolls(await fileOf(t, [{ question: 'nq line', answer: ['x'] }]), SETS.qasper), { code: 'dataset_invalid' })
  t.same(['A', '(B) two', 'The answer is C.', 'none'].map(firstLetter), ['A', 'B', 'C', undefined])
})

t.test('generated cases hold what they ask for, once, and depend on their seed alone', (t) => {
  const record = linesCase(30, 1, 2)
  t.same(linesCase(30, 1, 2), record)
  t.notSame(linesCase(30, 2, 2).document, record.document)
  const name = /in line (\S+)\?/.exec(record.question)?.[1] ?? ''
  t.equal(record.document.split(`line ${name}: REGISTER_CONTENT is <${record.expected}>`).length, 2)
  t.equal(new Set(record.document.match(/^line \S+:/gm)).size, 30, 'names are different')

  const words = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length
  for (const distance of [8, 100, 400, 850]) {
    const key = passkeyCase({ tokens: 1000, distance }, 1, 0, words)
    const prompt = key.document + key.question
    t.equal(key.document.split(key.expected).length, 3, 'the key stands there twice, in one sentence')
    t.ok(Math.abs(words(prompt) - 1000) <= 1, `${words(prompt)} tokens`)
    const behind = words(prompt.slice(key.document.lastIndexOf(`${key.expected} is the pass key.`))) - 5
    t.ok(Math.abs(behind - distance) <= 1, `${behind} tokens behind the key`)
  }
  t.end()
})

t.test('the effective window ends before the first distance at which keys are lost', (t) => {
  const points = [90, 100, 20, 10, 60].map((accuracy, i) => ({ distance: 100 * (i + 1), accuracy }))
  t.equal(effectiveWindow(points), 300)
  t.equal(effectiveWindow([...points].reverse()), 300, 'whatever their order')
  t.equal(effectiveWindow(points.slice(3)), 0)
  t.equal(effectiveWindow([]), 0)
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

t.test('altered numbers: near years, as many digits, whole tokens; paragraphs at their position', (t) => {
  for (let i = 0; i < 50; i++) {
    const random = seededRandom('test', i)
    const year = Number(otherNumber('1815', random))
    t.ok(year !== 1815 && Math.abs(year - 1815) <= 10)
    t.match(otherNumber('70', random), /^(?!70)[1-9]\d$/)
  }
  t.equal(replaceNumber('In 1815, not 18150 or 1,815; 1815.', '1815', '1820'), 'In 1820, not 18150 or 1,815; 1820.')
  const others = Array.from({ length: 40 }, (_, i) => `other ${i} ${'x'.repeat(50)}`)
  for (const position of POSITIONS) {
    const document = insertParagraph('THE GOLD', others, { characters: 1500, position }, { seed: 0, item: 'q' })
    const share = document.indexOf('THE GOLD') / document.length
    t.ok(document.length <= 1600)
    if (position === 'start') t.ok(share < 0.15, `start: ${share}`)
    if (position === 'end') t.ok(share > 0.85, `end: ${share}`)
  }
  t.end()
})
