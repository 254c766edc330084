import t from 'tap'
import { NO_WRAP } from '../../../src/text/chat-template.ts'
import { planDocument } from '../../../src/text/document/plan-document.ts'
import type { DocumentRequest } from '../../../src/text/document/request.ts'
import { encodeLong } from '../../../src/text/encode-long.ts'
import { readPromptFile } from '../../../src/text/document/request.ts'
import { loadTokenizer } from '../../../src/text/tokenizer.ts'
import { wordTokenizer } from '../../fixtures/word-tokenizer.ts'

const noStep = (): Promise<void> => Promise.resolve()
const TINY = 'models/tiny/checkpoint/cepe'

/** Paragraphs of ten words, each with a number of its own. */
function paragraphs(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `Paragraph${i} has the words that any other paragraph has, but${i}.`)
}

function request(text: string, changes: Partial<DocumentRequest> = {}): DocumentRequest {
  return {
    text,
    from: 0,
    to: text.length,
    head: '',
    query: '\n\nQuestion: what?\nAnswer:',
    title: 'Report',
    chunking: 'passages',
    chunkTokens: 64,
    promptTokens: 200,
    tailTokens: 96,
    encoderTokens: null,
    documentTokens: 100_000,
    ...changes,
  }
}

t.test('a long text has the ids of the whole, piece by piece, and each token its place', async (t) => {
  const tokenizer = await loadTokenizer(TINY, { bos_id: 1, eos_ids: [2] })
  const text = `# Heading\n\n${paragraphs(200).join(' ')}  two spaces, K\u00f6ln \u2014 \u6f22\u5b57 \ud83d\ude00 ${'x'.repeat(9000)} end`
  const encoding = await encodeLong(text, tokenizer, noStep)
  t.ok(text.length > 15_000)
  t.same(encoding.ids.slice(0, 3000), tokenizer.encode(text).slice(0, 3000))
  const plain = (value: string): string => value.toLowerCase().replace(/\s+/g, '')
  for (const token of [0, 1, 100, 777, 1500, 2900]) {
    const wanted = plain(tokenizer.decode(encoding.ids.slice(token, token + 4)))
    t.equal(plain(text.slice(encoding.startOf(token))).slice(0, wanted.length), wanted, `token ${token}`)
  }
  t.equal(encoding.startOf(encoding.ids.length), text.length)
})

for (const chunking of ['passages', 'tokens'] as const) {
  t.test(`${chunking}: every paragraph reaches exactly one side`, async (t) => {
    const tokenizer = wordTokenizer()
    const text = paragraphs(60).join('\n\n')
    const { chunks, tail, contextIds, promptIds, promptText, tokens } = await planDocument(
      request(text, { chunking }),
      NO_WRAP,
      tokenizer,
      noStep,
    )
    t.equal(chunks[0]?.start, 0)
    chunks.forEach(({ end }, i) => t.equal(end, chunks[i + 1]?.start ?? tail?.start, 'without gap'))
    t.equal(tail?.end, text.length)
    t.ok(contextIds.every((ids) => ids.length <= 64 && ids.length > 0))
    t.ok(promptIds.length <= 200)
    t.ok(tokens > 600 && tail !== null && tail.tokens <= 96 && tail.tokens > 60)
    t.equal(tokenizer.decode(promptIds).replace('<bos>', ''), promptText)
    t.match(promptText, /but59\.\n\nQuestion: what\?\nAnswer:$/)
    const read = contextIds.map((ids) => tokenizer.decode(ids)).join(' ')
    for (let i = 0; i < 60; i++) t.equal((read + promptText).split(`Paragraph${i} `).length, 2, `paragraph ${i}`)
  })

  t.test(`${chunking}: a question of another length finds the same chunks`, async (t) => {
    const tokenizer = wordTokenizer()
    const text = paragraphs(60).join('\n\n')
    const [one, other] = await Promise.all(
      ['what?', 'what is the matter with this text?'].map((question) =>
        planDocument(
          request(text, { chunking, tailTokens: 1000, promptTokens: 190, query: `\n\nQuestion: ${question}\nAnswer:` }),
          NO_WRAP,
          tokenizer,
          noStep,
        ),
      ),
    )
    t.same(one?.contextIds, other?.contextIds)
  })
}

t.test('passages: the heading stands in front, and sections are not mixed', async (t) => {
  const tokenizer = wordTokenizer()
  const text = `Opening words.\n\n# Ganges\n\nIt flows\ninto the sea.\n- first point\n\n## Source ##\nFar away.\n`
  const { contextIds, chunks } = await planDocument(request(text, { tailTokens: 0 }), NO_WRAP, tokenizer, noStep)
  t.same(
    contextIds.map((ids) => tokenizer.decode(ids)),
    [
      'Document (Title: Report): Opening words.',
      'Document (Title: Report: Ganges): It flows into the sea.\n- first point',
      'Document (Title: Report: Source): Far away.',
    ],
  )
  t.equal(text.slice(chunks[1]?.start, chunks[1]?.end).split('\n')[0], '# Ganges')
})

t.test('bounds: a sentence without end, a document beyond its tokens, a question beyond the prompt', async (t) => {
  const tokenizer = wordTokenizer()
  const endless = Array.from({ length: 500 }, (_, i) => `w${i}`).join(' ')
  const { contextIds } = await planDocument(request(endless, { tailTokens: 0 }), NO_WRAP, tokenizer, noStep)
  t.ok(contextIds.length > 7 && contextIds.every((ids) => ids.length <= 64))
  const words = contextIds.flatMap((ids) => tokenizer.decode(ids).match(/\bw\d+/g) ?? [])
  t.equal(words.join(' '), endless)
  for (const chunking of ['passages', 'tokens'] as const)
    await t.rejects(planDocument(request(endless, { chunking, documentTokens: 400 }), NO_WRAP, tokenizer, noStep), {
      code: 'payload_too_large',
    })
  await t.rejects(planDocument(request(endless, { promptTokens: 4 }), NO_WRAP, tokenizer, noStep), {
    code: 'unprocessable',
    field: 'question',
  })
  const bounded = await planDocument(
    request(endless, { chunking: 'tokens', tailTokens: 0, encoderTokens: 100 }),
    NO_WRAP,
    tokenizer,
    noStep,
  )
  t.equal(bounded.contextIds.flat().length, 100)
  t.equal(endless.slice(bounded.chunks[0]?.start).trim().split(' ').length, 100, 'the last ones')
})

t.test('a file that brings its own question is taken as it is', (t) => {
  const paper = 'First line.\n=== END OF FILE === is how we end.\nLast line.'
  const text = `You are given this research paper.\n=== BEGIN ===\n${paper}\n=== END OF FILE ===\nPlease give me a brief summary.`
  const file = readPromptFile(text)
  t.same(file && { ...file, document: text.slice(file.from, file.to) }, {
    head: 'You are given this research paper.\n=== BEGIN ===\n',
    document: paper,
    query: '\n=== END OF FILE ===\nPlease give me a brief summary.',
    from: 49,
    to: 49 + paper.length,
  })
  t.equal(readPromptFile('=== BEGIN ===\npaper\n=== END OF FILE ===\n'), undefined, 'without a question after it')
  t.equal(readPromptFile('a text about === BEGIN === marks'), undefined)
  t.end()
})
