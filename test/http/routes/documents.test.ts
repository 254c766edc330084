import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../src/package.ts'
import type { DocumentParser } from '../../../src/documents/parser.ts'
import { createDocumentParser } from '../../../src/documents/parser.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import type { DocumentResponse } from '../../../src/rag/document-schema.ts'
import { buildModel } from '../../../models/build.ts'
import { buildWithWords, fixtureDir } from '../../fixtures/built-fixture.ts'
import { makePdf } from '../../fixtures/pdf.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { testApp, type ErrorBody } from '../helpers.ts'

const PAGES = 30

/** The texts of thirty titles of the demo corpus: lines of a page, or a document with headings. */
async function sections(): Promise<{ title: string; passages: string[] }[]> {
  const lines = (await readFile(path.join(packageRoot(), 'index/corpus/passages.tsv'), 'utf8')).trim().split('\n').slice(1)
  const byTitle = new Map<string, string[]>()
  for (const line of lines) {
    const [, text = '', title = ''] = line.split('\t')
    byTitle.set(title, [...(byTitle.get(title) ?? []), text])
  }
  const all = [...byTitle].map(([title, passages]) => ({ title, passages }))
  return all.filter((_, i) => i % 9 === 0).slice(0, PAGES)
}

function wrapped(text: string): string[] {
  const ascii = text.normalize('NFD').replace(/[^\x20-\x7e]/g, '')
  return ascii.match(/\S.{0,94}(?=\s|$)/g) ?? []
}

async function shippedReader(t: Test) {
  const modelDir = await mkdtemp(path.join(tmpdir(), 'cepe-documents-'))
  t.teardown(() => rm(modelDir, { recursive: true, force: true }))
  await buildModel({
    checkpointDir: path.join(packageRoot(), 'models/tiny/checkpoint/cepe'),
    outDir: path.join(modelDir, 'cepe'),
    dtype: 'f32',
  })
  const reader = await createReader({ modelDir: path.join(modelDir, 'cepe'), threads: 1 })
  t.teardown(() => reader.close({ drainMs: 0 }))
  return reader
}

t.test('one question of a thirty-page file, as PDF, Markdown and HTML', async (t) => {
  const reader = await shippedReader(t)
  const { admission } = recordingServices().services
  const parser = createDocumentParser({ parseMs: 60_000 })
  t.teardown(() => parser.close())
  const services = { reader, admission, documentTokens: 32_768, chatTemplate: 'none' as const }
  const { app, post } = await testApp(t, { documents: { services, parser } })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const texts = await sections()
  const files = {
    'atlas.pdf': makePdf(texts.map(({ title, passages }) => [`# ${title}`, ...passages.flatMap((passage) => [...wrapped(passage), ''])])),
    'atlas.md': Buffer.from(texts.map(({ title, passages }) => `# ${title}\n\n${passages.join('\n\n')}`).join('\n\n')),
    'atlas.html': Buffer.from(
      `<html><head><meta charset="utf-8"><title>Atlas</title></head><body>${texts.map(({ title, passages }) => `<h2>${title}</h2>${passages.map((passage) => `<p>${passage}</p>`).join('')}`).join('')}</body></html>`,
    ),
  }
  for (const [name, bytes] of Object.entries(files)) {
    const form = new FormData()
    form.set('question', 'who wrote great expectations')
    form.set('evidence', '3')
    form.set('include_text', 'true')
    form.set('title', '')
    form.set('file', new Blob([new Uint8Array(bytes)]), name)
    const response = await fetch(`${url}/v1/documents/answer`, { method: 'POST', body: form })
    const body = (await response.json()) as DocumentResponse
    t.equal(response.status, 200, JSON.stringify(body).slice(0, 300))
    t.match(body, {
      answer: 'charles dickens',
      finish_reason: 'stop',
      document: { type: { pdf: 'pdf', md: 'markdown', html: 'html' }[name.split('.')[1] ?? ''] },
    })
    const [first] = body.evidence
    const text = body.document.text ?? ''
    t.equal(body.evidence.length, 3)
    t.equal(first?.text, text.slice(first?.start, first?.end))
    t.match(first?.text, /Great Expectations/)
    const highlight = body.evidence.flatMap(({ highlights }) => highlights)[0]
    t.equal(text.slice(highlight?.start, highlight?.end), 'Charles Dickens')
    t.ok(body.document.chunks >= PAGES && body.document.tokens > 5000)
    const page = texts.findIndex(({ title }) => title === 'Great Expectations') + 1
    t.same(first?.pages, name === 'atlas.pdf' ? { first: page, last: page } : null)
  }

  const markdown = files['atlas.md'].toString()
  const asked = async (body: object): Promise<DocumentResponse> =>
    (await post('/v1/documents/answer', { type: 'markdown', ...body })).json()
  const again = await asked({ text: markdown, question: 'where was george eliot born', evidence: 200 })
  t.equal(again.answer, 'nuneaton')
  const shares = again.evidence.map(({ attention }) => attention ?? 0)
  t.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-4)
  t.same(
    shares,
    [...shares].sort((a, b) => b - a),
    'those looked at most come first',
  )

  const letters = { text: 'M\u00fcllerstra\u00dfe is a caf\u00e9 in Malm\u00f6.', title: 'Caf\u00e9', question: 'where is Malm\u00f6' }
  const options = { type: 'text', include_text: true, include_prompts: true }
  const composed = await asked({ ...letters, ...options })
  t.match(composed, { document: { title: letters.title, text: letters.text }, contexts: [/caf\u00e9/i] })
  const { timings_ms: _, ...same } = composed
  for (const given of [letters.text.normalize('NFD'), `\ufeff${letters.text}`]) {
    const decomposed = { text: given, title: letters.title.normalize('NFD'), question: letters.question.normalize('NFD') }
    const { timings_ms: _own, ...read } = await asked({ ...decomposed, ...options })
    t.same(read, same, 'letters in other forms are the same document')
  }

  const reversed = [...texts].reverse()
  const other = reversed.map(({ title, passages }) => `# ${title}\n\n${passages.join('\n\n')}`).join('\n\n')
  const turned = await asked({ text: other, question: 'where was george eliot born' })
  t.equal(turned.answer, 'nuneaton', 'the order of chunks does not count')
  t.ok(Math.abs(turned.confidence - again.confidence) < 1e-3)

  const paper = `Here is a text.\n=== BEGIN ===\n${markdown}\n=== END OF FILE ===\nQuestion: who wrote great expectations\nAnswer:`
  const own = await asked({ text: paper, type: 'text', max_new_tokens: 8, min_new_tokens: 3, decoder_tokens: 64, include_prompts: true })
  t.ok(own.usage.generated_tokens >= 3)
  t.match(own.prompts?.[0], /^Here is a text\.\n=== BEGIN ===\n[^]*\n=== END OF FILE ===\nQuestion: who wrote great expectations\nAnswer:$/)
  t.equal(own.evidence.at(-1)?.role, 'decoder')
  t.equal(own.evidence.at(-1)?.end, paper.indexOf('\n=== END OF FILE ==='), 'the tail ends where the document does')
  const summary = await asked({
    text: markdown.slice(0, 3000),
    summarise: true,
    max_new_tokens: 12,
    decoder_tokens: 100,
    chat_template: 'inst',
    include_prompts: true,
  })
  t.match(summary.prompts?.[0], /^\[INST\] [^]*Summary:\n \[\/INST\]$/)
})

t.test('what cannot be asked is named, and no place is kept', async (t) => {
  const { app, post, answering } = await testApp(t)
  const { code, field } = { code: 'invalid_request', field: 'question' }
  const refused = async (body: object, status: number, error: object): Promise<void> => {
    const response = await post('/v1/documents/answer', body)
    t.equal(response.statusCode, status, response.body)
    t.match(response.json<ErrorBody>(), { error })
  }
  await refused({ question: 'who' }, 400, { code, field: 'text' })
  await refused({ text: 'x' }, 400, { code, field })
  await refused({ text: 'x', question: 'a', summarise: true }, 400, { code, field: 'summarise' })
  await refused({ text: 'x', question: 'a', chunk_tokens: 400 }, 400, { code, field: 'chunk_tokens' })
  await refused({ text: 'x', question: 'a', max_new_tokens: 1000 }, 400, { code, field: 'max_new_tokens' })
  await refused({ text: 'x', question: 'a', max_new_tokens: 4, min_new_tokens: 5 }, 400, { code, field: 'min_new_tokens' })
  await refused({ text: 'x', question: 'a', k: 4 }, 400, { code, field: 'k' })
  await refused({ text: ' \n', question: 'a' }, 422, { code: 'document_without_text', field: 'text' })

  const boundary = 'cut-here'
  const send = (payload: string | Buffer) =>
    app.inject({
      method: 'POST',
      url: '/v1/documents/answer',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      payload,
    })
  const form = (parts: string[]) =>
    send(`${parts.map((part) => `--${boundary}\r\ncontent-disposition: form-data; ${part}\r\n`).join('')}--${boundary}--\r\n`)
  const question = 'name="question"\r\n\r\nwho'
  const cases: [string[], number, object][] = [
    [[question], 400, { code, field: 'file' }],
    [['name="evidence"\r\n\r\nmany', 'name="file"; filename="a.txt"\r\n\r\nx'], 400, { code, field: 'evidence' }],
    [[question, 'name="file"; filename="a.docx"\r\n\r\nPK\u0003\u0004'], 422, { code: 'document_invalid', field: 'file' }],
    [[question, 'name="file"; filename="a.odg"\r\n\r\nPK\u0003\u0004'], 415, { code: 'unsupported_media_type', field: 'file' }],
    [[question, 'name="file"; filename="a.txt"\r\n\r\n'], 422, { code: 'document_without_text', field: 'file' }],
    [[question, 'name="file"; filename="a.pdf"\r\n\r\nnone'], 422, { code: 'document_invalid', field: 'file' }],
    [[question, 'name="color"\r\n\r\nred', 'name="file"; filename="a.txt"\r\n\r\nx'], 400, { code, field: 'color' }],
    [[question, question, 'name="file"; filename="a.txt"\r\n\r\nx'], 400, { code, field, message: /set twice/ }],
    [
      [
        question,
        'name="sampling"\r\n\r\n{"temperature": 1, "temperature": 2, "top_p": 1, "seed": 1}',
        'name="file"; filename="a.txt"\r\n\r\nx',
      ],
      400,
      { code, field: 'sampling.temperature', message: /set twice/ },
    ],
    [
      [question, ...['a', 'b'].map((name) => `name="${name}"; filename="${name}.txt"\r\n\r\nx`)],
      400,
      { code, field: 'file', message: /one/ },
    ],
    [Array.from({ length: 31 }, (_, i) => `name="f${i}"\r\n\r\nx`), 400, { code, field: 'form', message: /too many fields/ }],
  ]
  const latin = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="question"\r\n\r\n\u00e9\r\n--${boundary}--\r\n`,
    'latin1',
  )
  t.match((await send(latin)).json<ErrorBody>(), { error: { code, field, message: /not UTF-8/ } })
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="\u00e9.txt"\r\n\r\nx\r\n--${boundary}--\r\n`
  t.match((await send(Buffer.from(file, 'latin1'))).json(), { error: { code, field: 'file', message: /has a name that is not UTF-8/ } })
  for (const broken of [file.slice(0, -20), file.replaceAll('\r\n', '\n')]) {
    const response = await send(broken)
    t.match([response.statusCode, response.json()], [400, { error: { code, field: 'form', message: /: send it again, whole\.$/ } }])
  }
  const own = form(['name="constructor"\r\n\r\nx'])
  t.match((await own).json(), { error: { code, field: 'form', message: /like a property of every object: leave it out/ } })
  for (const [parts, status, error] of cases) {
    const response = await form(parts)
    t.equal(response.statusCode, status, response.body)
    t.match(response.json<ErrorBody>(), { error })
  }
  const permits = Array.from({ length: 65 }, (_, i) => answering.admission.enter({ client: String(i), cost: 1 }))
  t.equal(permits.length, 65, 'all places of the service are free again')
  permits.forEach((permit) => permit.release(false))
})

t.test('a full service refuses a document before it reads it; too large a file is refused', async (t) => {
  const { app, post, answering } = await testApp(t, {}, { DOCUMENT_MB: 1 })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const form = new FormData()
  form.set('question', 'who')
  form.set('file', new Blob([new Uint8Array(2 ** 21).fill(65)]), 'a.txt')
  const large = await fetch(`${url}/v1/documents/answer`, { method: 'POST', body: form })
  t.equal(large.status, 413)
  t.match(await large.json(), { error: { code: 'payload_too_large', field: 'file', message: /CEPE_DOCUMENT_MB/ } })
  const permits = Array.from({ length: 130 }, () => {
    try {
      return [answering.admission.enter({ client: '127.0.0.1', cost: 1 })]
    } catch {
      return []
    }
  }).flat()
  const full = await post('/v1/documents/answer', { text: '', question: 'who' })
  t.equal(full.statusCode, 400)
  const busy = await post('/v1/documents/answer', { text: ' ', question: 'who' })
  t.equal(busy.statusCode, 503, 'before it is found out that there is no text')
  t.ok(busy.headers['retry-after'])
  permits.forEach((permit) => permit.release(false))
})

t.test('a client that holds all the files it may keeps no other out', async (t) => {
  const { admission, reader } = recordingServices().services
  const held: (() => void)[] = []
  const parser: DocumentParser = {
    read: async () => {
      await new Promise<void>((resolve) => held.push(resolve))
      return { type: 'html', title: '', text: 'Mary Ann Evans was born in Nuneaton.', pages: [], warnings: [] }
    },
    close: () => undefined,
  }
  const document = () =>
    Promise.resolve({
      ...{ text: 'yes', stopped: true, logprobs: [-1], chunks: [], contextShares: [], inDecoder: [], documentTokens: 7, promptTokens: 7 },
      ...{ prompts: [], contexts: [], timingsMs: { queue: 0, plan: 0, encode: 0, generate: 0 } },
    })
  const services = { reader: { manifest: reader.manifest, document }, admission, documentTokens: 1000, chatTemplate: 'none' as const }
  const { app } = await testApp(t, { documents: { services, parser } }, { TRUST_PROXY: '1' })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = (client: string) =>
    fetch(`${url}/v1/documents/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': client },
      body: JSON.stringify({ type: 'html', text: '<p>Mary Ann Evans', question: 'who' }),
    })
  let over = false
  t.teardown(() => (over = true))
  const holding = async (count: number): Promise<void> => {
    while (held.length < count && !over) await sleep(10)
  }
  const refused = async (client: string, message: string): Promise<void> => {
    const response = await ask(client)
    t.equal(response.status, 503, message)
    t.ok(response.headers.get('retry-after'))
    t.match(await response.json(), { error: { code: 'overloaded', message: /documents are being received or read/ } })
  }
  const first = Array.from({ length: 16 }, () => ask('10.0.0.1'))
  await holding(16)
  await refused('10.0.0.1', 'a client alone holds 16')
  const others = Array.from({ length: 8 }, () => ask('10.0.0.2'))
  // A request that is refused is never held.
  const early = await Promise.race([holding(24), ...others])
  t.equal(early?.status, undefined, 'another has its share all the same')
  if (early === undefined) await refused('10.0.0.2', 'and no more than that')
  held.forEach((go) => go())
  if (early !== undefined) return
  const answers = await Promise.all([...first, ...others])
  t.ok(answers.every(({ status }) => status === 200))
  held.length = 0
  const again = Array.from({ length: 16 }, () => ask('10.0.0.2'))
  await holding(16)
  held.forEach((go) => go())
  for (const answer of again) t.equal((await answer).status, 200, 'all places are free again')
})

t.test('the parts of chunks that the encoder reads are counted', async (t) => {
  const folder = t.testdir({})
  await cp(fixtureDir('cepe-tiny-gqa') ?? '', folder, { recursive: true })
  const protocol = { mode: 'map-rerank', k: 2, k_decoder: 0, demonstrations: 0, context_tokens: 64, max_new_tokens: 4, focus: true }
  await writeFile(path.join(folder, 'qa_config.json'), JSON.stringify(protocol))
  const modelDir = await buildWithWords(folder, path.join(folder, 'built'), 'f32')
  const reader = await createReader({ modelDir, threads: 1 })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const { admission } = recordingServices().services
  const parser = createDocumentParser({ parseMs: 60_000 })
  t.teardown(() => parser.close())
  const services = { reader, admission, documentTokens: 32_768, chatTemplate: 'none' as const }
  const { post } = await testApp(t, { documents: { services, parser } })
  const text = 'w5 w9 w11 w13 w5 w9! w12 w14 w15 w16! w17 w18 w19 w20'
  const asked = { text, question: 'w5 w9 w11', max_new_tokens: 4, include_prompts: true }
  const json = (await post('/v1/documents/answer', asked)).json<DocumentResponse>()
  t.equal(json.document.chunks, 1)
  const [whole = '', ...parts] = json.contexts ?? []
  t.match(whole, /w20/)
  t.ok(parts.length > 0 && parts.every((part) => part.length < whole.length), 'parts were read')
  t.equal(json.usage.context_tokens, 17 + 9 + 13, 'of the chunk, of its nearest sentence, and of that with the next one')
})
