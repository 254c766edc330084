import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { splitDocument } from '../../src/text/split-document.ts'
import { otherNumber, placeParagraph, PLACES, replaceNumber } from '../../eval/tasks/altqa/generate.ts'
import { linesCase } from '../../eval/tasks/lines/generate.ts'
import { passkeyCase } from '../../eval/tasks/passkey/task.ts'
import { readScrolls } from '../../eval/tasks/zeroscrolls/read.ts'
import { SETS } from '../../eval/tasks/zeroscrolls/sets.ts'
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
  t.same(qasper.examples, [{ id: 'a', query: 'Which?', document: 'First.\n\nSecond.', answers: ['this', 'that'] }])
  t.same(
    qasper.problems.map(({ kind }) => kind),
    ['no query', 'no answer'],
  )
  const quality = await readScrolls(
    await fileOf(t, [{ id: 'q', input: 'Who?\n\n (A) one\n (B) two\n (C) three\n (D) four\n\n\nThe story.', output: 'three' }]),
    SETS.quality,
  )
  t.match(quality.examples, [{ query: 'Who?\n\n(A) one\n(B) two\n(C) three\n(D) four', document: '\nThe story.', answers: ['C'] }])
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

  const key = passkeyCase(1000, 400, 1, 0)
  t.equal(key.document.split(key.expected).length, 3, 'the key stands there twice, in one sentence')
  t.equal(key.document.length - key.document.lastIndexOf('pass key.') - 'pass key.'.length - 1, 400, 'characters behind it')
  t.end()
})

t.test('altered numbers: near years, as many digits, whole tokens; paragraphs at their place', (t) => {
  for (let i = 0; i < 50; i++) {
    const random = seededRandom('test', i)
    const year = Number(otherNumber('1815', random))
    t.ok(year !== 1815 && Math.abs(year - 1815) <= 10)
    t.match(otherNumber('70', random), /^(?!70)[1-9]\d$/)
  }
  t.equal(replaceNumber('In 1815, not 18150 or 1,815; 1815.', '1815', '1820'), 'In 1820, not 18150 or 1,815; 1820.')
  const others = Array.from({ length: 40 }, (_, i) => `other ${i} ${'x'.repeat(50)}`)
  for (const place of PLACES) {
    const document = placeParagraph('THE GOLD', others, { characters: 1500, place }, { seed: 0, item: 'q' })
    const share = document.indexOf('THE GOLD') / document.length
    t.ok(document.length <= 1600)
    if (place === 'start') t.ok(share < 0.15, `start: ${share}`)
    if (place === 'end') t.ok(share > 0.85, `end: ${share}`)
  }
  t.end()
})
