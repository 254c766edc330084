import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import type { DocumentResponse } from '../../src/rag/document-schema.ts'
import type { AnswerResponse } from '../../src/rag/schema.ts'
import { fileUrl } from '../helpers/root.ts'
import { startServer } from '../helpers/cli.ts'

/** Text that is in no corpus, and questions that it answers word for word. */
const HANDBOOK = {
  title: 'Pump handbook',
  text: 'The Marlow pump was introduced in 2019. It weighs 14 kilograms and is built in Rotterdam. Its warranty ends after three years. Filters are changed every six months by a technician named Ruth Okafor.',
}
const LETTER = {
  title: 'Letter to the tenants',
  text: 'The heating of the house in Elm Street will be renewed in October. During the work the water is turned off on Tuesdays. Questions go to the caretaker, Mr Lindqvist.',
}
const QUESTIONS = [
  ['Where is the Marlow pump built?', /^Rotterdam$/],
  ['When was the Marlow pump introduced?', /^(?:in )?2019$/],
  ['Who changes the filters?', /Ruth Okafor/],
  ['On which day is the water turned off?', /^(?:on )?Tuesdays?$/],
  ['Who is the caretaker?', /Lindqvist/],
] as const

t.test('the shipped reader answers from text that it never saw', { timeout: 380_000 }, async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-shipped-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(
    corpus,
    ['id\ttext\ttitle', ...[HANDBOOK, LETTER].map(({ title, text }, id) => `${id}\t${text}\t${title}`), ''].join('\n'),
  )
  const server = await startServer({
    CEPE_INDEX_DIR: path.join(dir, 'index'),
    CEPE_CORPUS: corpus,
    CEPE_THREADS: '1',
    CEPE_LOG_LEVEL: 'warn',
  })
  t.teardown(() => server.stop())
  const ask = async (payload: object) => {
    const response = await fetch(`${server.url}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ passages: [HANDBOOK, LETTER], min_confidence: 0, ...payload }),
    })
    t.equal(response.status, 200)
    return (await response.json()) as AnswerResponse
  }
  const answers = await Promise.all(QUESTIONS.map(([question]) => ask({ question })))
  const right = answers.filter(({ answer }, i) => QUESTIONS[i]?.[1].test(answer ?? ''))
  t.ok(right.length >= 4, answers.map(({ answer }) => answer).join(' | '))
  t.ok(
    answers.every(({ probability_correct: probability, mode }) => probability !== null && mode === 'map-rerank'),
    'judged, though each passage was read on its own',
  )
  const entries = [
    [
      'What is the IBAN of the club?',
      'The IBAN of the club is DE89 3704 0044 0532 0130 00. Its BIC is COBADEFFXXX.',
      'DE89 3704 0044 0532 0130 00',
    ],
    ['What was the net result in 2020?', 'The company made a net result of $(1,250) in 2020.', '$(1,250)'],
  ] as const
  for (const [question, text, expected] of entries) {
    const passages = [{ title: 'Accounts', text }]
    t.match(await ask({ question, passages }), { answer: expected, finish_reason: 'stop' }, 'a value to its end, with its sign')
    const cut = await ask({ question, passages, max_new_tokens: 4 })
    t.equal(cut.finish_reason, 'length', 'a limit of the request cuts')
    const sampled = await ask({ question, passages, sampling: { temperature: 0.01, top_p: 1, seed: 5 } })
    t.equal(sampled.answer, expected, 'sampling, too')
  }
  const [row = ''] = (await readFile(fileUrl('index/corpus/passages.tsv'), 'utf8'))
    .split('\n')
    .filter((line) => line.includes('capital is Canberra'))
  const shown = await ask({
    question: 'what is the capital of australia',
    passages: [{ title: 'Australia', text: row.split('\t')[1] ?? '' }],
  })
  t.equal(shown.answer, 'Canberra')
  for (const page of ['README.md', 'docs/api.md']) {
    const [, printed] = /"confidence": ([\d.]+), "probability_correct"/.exec(await readFile(fileUrl(page), 'utf8')) ?? []
    t.equal((shown.confidence ?? 0).toFixed(2), Number(printed).toFixed(2), `${page} shows what is answered`)
  }
  const unanswerable = await ask({ question: 'Who wrote the opera Tosca?' })
  t.ok((unanswerable.probability_correct ?? 0) < 0.5, `no passage holds it: ${unanswerable.answer ?? ''}`)
  const withheld = await ask({ question: 'Who wrote the opera Tosca?', min_confidence: undefined })
  t.ok(withheld.abstained || withheld.answer === '')
  t.type(withheld.extract?.text, 'string', 'the nearest sentence stands in its place')
  const sampled = await ask({
    question: 'Who wrote the opera Tosca?',
    min_confidence: undefined,
    sampling: { temperature: 0.7, top_p: 1, seed: 5 },
  })
  t.ok(sampled.abstained || sampled.answer === '', 'a temperature does not switch withholding off')
  // Some 12,000 tokens, the answer near the beginning: more than a prompt takes.
  const filler = Array.from(
    { length: 500 },
    (_, i) => `Entry ${i}: the warehouse in row ${i} holds spare tyres, buckets and rope of that year.`,
  )
  const asked = await fetch(`${server.url}/v1/documents/answer`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      text: [filler[0], HANDBOOK.text, ...filler.slice(1)].join('\n\n'),
      question: 'Where is the Marlow pump built?',
    }),
  })
  const read = (await asked.json()) as DocumentResponse
  t.match(read, { answer: /Rotterdam/, evidence: [{ role: 'decoder', attention: null, text: /Marlow pump/ }] })
  t.ok(read.evidence.length <= 5 && read.document.unread > 10_000, 'only the parts that fit the question are read')
  // Several chunks are read: the first in a prompt, the others through the encoder, their parts in prompts.
  const towers = Array.from({ length: 8 }, (_, i) =>
    Array.from(
      { length: 8 },
      (_, j) => `Tower ${j} of town ${'ABCDEFGH'[j]} was designed by ${'Ann Bob Cid Dan'.split(' ')[(i + j) % 4]} in ${1900 + 10 * i + j}.`,
    ),
  )
  const form = new FormData()
  form.set('question', 'Which town is known?')
  form.set('file', new Blob([towers.map((lines) => lines.join(' ')).join('\n\n')]), 'towers.txt')
  const several = (await (await fetch(`${server.url}/v1/documents/answer`, { method: 'POST', body: form })).json()) as DocumentResponse
  const starts = several.evidence.map(({ start }) => start)
  t.equal(new Set(starts).size, starts.length, `each chunk is listed once: ${starts.join()}`)
  t.ok(several.evidence.some(({ role }) => role === 'both'))
  const { characters, unread } = several.document
  t.ok(unread > 0)
  t.equal(unread, characters - several.evidence.reduce((sum, { start, end }) => sum + end - start, 0), 'no chunk counts twice')
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused' })
  t.match(await client.models.retrieve('cepe'), { id: /^smollm2-135m-qa@/ }, 'whatever the checkpoint is called')
  const messages = [{ role: 'user' as const, content: 'Where is the Marlow pump built?' }]
  t.match(await client.chat.completions.create({ model: 'cepe', messages }), { model: /^smollm2-135m-qa@/, choices: [{}] })
  const schema = {
    type: 'object',
    properties: { place: { type: 'string', maxLength: 40 } },
    required: ['place'],
    additionalProperties: false,
  }
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'place', schema } }
  const formed = await client.chat.completions.create({ model: 'cepe', messages, response_format })
  t.match(formed.choices[0]?.message.content, '{"place":"Rotterdam"}')
  const pump = {
    name: { type: 'string' },
    weight: { type: 'number' },
    year: { type: 'integer' },
    technician: { type: 'string', description: 'Who changes the filters?' },
    by: { type: 'string', description: 'name of the technician' },
    price: { type: ['number', 'null'] },
  }
  const values = { name: 'pump', schema: { type: 'object', properties: pump, required: Object.keys(pump), additionalProperties: false } }
  const filled = await client.chat.completions.create({
    model: 'cepe',
    messages: [{ role: 'user', content: 'When was the Marlow pump introduced?' }],
    response_format: { type: 'json_schema', json_schema: values },
  })
  t.match(
    JSON.parse(filled.choices[0]?.message.content ?? 'null'),
    { name: /Marlow/, weight: 14, year: 2019, technician: /Ruth Okafor/, by: /Ruth Okafor/, price: null },
    'each value is read by its own question',
  )
  const sizes = Object.fromEntries(['p', 'voltage', 'speed', 'pressure'].map((name) => [name, { type: 'number' }]))
  const guessed = await client.chat.completions.create({
    model: 'cepe',
    messages: [{ role: 'user', content: 'When was the Marlow pump introduced?' }],
    response_format: { type: 'json_schema', json_schema: { name: 'sizes', schema: { type: 'object', properties: sizes } } },
    ...{ cepe: { min_confidence: 0 } },
  })
  t.notMatch(guessed.choices[0]?.message.content, '-', 'a number has no sign where the passage has none')
  // Small talk, and questions that no corpus of this kind answers.
  const all = (await readFile(fileUrl('test/fixtures/clients/unanswerable.txt'), 'utf8')).trim().split('\n')
  t.equal(all.length, 40)
  const answered: string[] = []
  // Each second one: an answer takes a third of a second.
  for (const content of all.filter((_, i) => i % 2 === 0)) {
    const { choices } = await client.chat.completions.create({ model: 'cepe', messages: [{ role: 'user', content }] })
    const message = choices[0]?.message
    t.match(message?.content, /\p{L}{2}/u, `${content} is not answered with a blank`)
    if (message?.refusal === null) answered.push(`${content}: ${message.content}`)
  }
  t.ok(answered.length <= 1, answered.join(' | '))
})
