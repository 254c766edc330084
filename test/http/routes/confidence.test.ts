import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { at } from '../../../base/at.ts'
import type { AnswerResponse } from '../../../src/rag/schema.ts'
import { startServer, type RunningServer } from '../../helpers/cli.ts'
import type { ErrorBody } from '../helpers.ts'

const CORPUS = [
  ['1', 'It was founded in 1913. Canberra is the capital of Australia. It lies between Sydney and Melbourne.', 'Canberra'],
  ['2', 'English is spoken there. Australia, an independent country since 1901, is governed from Canberra, its capital.', 'Australia'],
  ['3', 'The Orinoco rises in the Parima Mountains and empties into the Atlantic Ocean in Venezuela.', 'Orinoco'],
]
const QUESTION = 'what is the capital of australia'

/** The service over that corpus, with the tiny reader and what was fitted on its answers to the demo's development questions. */
async function serverOf(t: Test, settings: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-judged-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, ['id\ttext\ttitle', ...CORPUS.map((row) => row.join('\t')), ''].join('\n'))
  const server = await startServer({
    CEPE_INDEX_DIR: path.join(dir, 'index'),
    CEPE_CORPUS: corpus,
    CEPE_READER_CHECKPOINT: 'models/tiny/checkpoint/cepe',
    CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
    CEPE_CALIBRATION: 'test/fixtures/calibration/tiny.json',
    CEPE_THREADS: '1',
    CEPE_LOG_LEVEL: 'warn',
    ...settings,
  })
  t.teardown(() => server.stop())
  return server
}

t.test('answers are judged, withheld and explained', { timeout: 380_000 }, async (t) => {
  const server = await serverOf(t)
  const post = async <Body>(route: string, payload: object) => {
    const response = await fetch(server.url + route, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(payload),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }
  const ask = async (payload: object) => (await post<AnswerResponse>('/v1/answer', { question: QUESTION, ...payload })).body

  await t.test('a calibration serves, and tells that it is of another table', async (t) => {
    const info = (await (await fetch(`${server.url}/v1/info`)).json()) as { reader: { id: string } }
    t.match(info, {
      calibration: { same_index: false, index: { table: 'passages' }, ece: Number, auroc: Number },
      min_confidence: 0.5,
      limits: { dropped_passages: 5 },
    })
  })

  await t.test('a probability beside the confidence; below the least there is no answer', async (t) => {
    const given = await ask({ include_signals: true })
    t.match(given, {
      answer: String,
      abstained: false,
      reason: null,
      probability_correct: Number,
      signals: { confidence: given.confidence },
    })
    const { probability_correct: probability, answer } = given
    t.ok(probability !== null && probability > 0 && probability < 1)
    t.equal((await ask({ min_confidence: (probability ?? 0) * 0.999 })).answer, answer)
    const withheld = await ask({ min_confidence: 1 })
    t.match(withheld, {
      answer: null,
      abstained: true,
      reason: 'low_probability_correct',
      probability_correct: probability,
      finish_reason: 'stop',
    })
    t.ok(withheld.evidence.length === 3 && withheld.evidence.every(({ highlights }) => highlights.length === 0))
    t.equal(withheld.signals, undefined)
    const { extract } = withheld
    t.match(extract, { id: '2', title: 'Australia', text: /^Australia, .* governed from Canberra, its capital\.$/ })
    t.equal(extract && CORPUS[1]?.[1]?.slice(extract.start, extract.end), extract?.text)
    t.equal(given.extract, null)
    for (const unmeasured of [{ mode: 'closed-book' }, { mode: 'decoder-only' }, { k_decoder: 3 }])
      t.match(await ask({ ...unmeasured, min_confidence: 1, include_signals: true }), {
        reason: 'low_confidence',
        probability_correct: null,
        ...('k_decoder' in unmeasured || unmeasured.mode === 'decoder-only' ? { signals: { from_prompt: 1 } } : { signals: null }),
      })
    t.match(await ask({ passages: [], min_confidence: 1 }), { answer: null, abstained: false, reason: 'no_passages' })
  })

  await t.test('withheld alike, and with the same probability, however the question is asked', async (t) => {
    const schema = {
      type: 'object',
      properties: { answer: { type: 'string', maxLength: 60 } },
      required: ['answer'],
      additionalProperties: false,
    }
    const chat = { model: 'cepe', messages: [{ role: 'user', content: QUESTION }] }
    const format = { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } }
    type Chat = { choices: { message: { content: string | null; refusal: string | null } }[]; cepe: AnswerResponse }
    const ofChat = async (more: object): Promise<AnswerResponse> => {
      const { choices, cepe } = (await post<Chat>('/v1/chat/completions', { ...chat, ...more })).body
      const { content = null, refusal = null } = choices[0]?.message ?? {}
      return { ...cepe, answer: refusal === null ? content : null }
    }
    const ofBatch = async (payload: object): Promise<AnswerResponse> => {
      const { body } = await post<{ results: { result: AnswerResponse }[] }>('/v1/answers', {
        questions: [{ question: QUESTION, ...payload }],
      })
      return at(body.results, 0).result
    }
    const plain = await ask({})
    const probability = plain.probability_correct ?? 0
    t.ok(probability > 0)
    for (const least of [probability * 0.999, Math.min(1, probability * 1.001)]) {
      const isWithheld = least > probability
      const judged = ({ answer, abstained, probability_correct }: AnswerResponse) => ({ answer, abstained, probability_correct })
      const same = { answer: isWithheld ? null : plain.answer, abstained: isWithheld, probability_correct: probability }
      const cold = { sampling: { temperature: 0.01, top_p: 1, seed: 1 }, min_confidence: least }
      for (const [name, response] of Object.entries({
        plain: await ask({ min_confidence: least }),
        cold: await ask(cold),
        'top_p alone': await ask({ ...cold, sampling: { temperature: 0.5, top_p: 1e-9, seed: 1 } }),
        batch: await ofBatch(cold),
        chat: await ofChat({ cepe: { min_confidence: least } }),
        'chat, temperature': await ofChat({ temperature: 0.01, cepe: { min_confidence: least } }),
      }))
        t.same(judged(response), same, name)
      for (const more of [{}, { temperature: 0.01 }]) {
        const formed = await ofChat({ ...format, ...more, cepe: { min_confidence: least } })
        t.same(judged(formed), { ...same, answer: isWithheld ? null : JSON.stringify({ answer: plain.answer }) })
      }
      // A hot answer may be another one: then it is as sure as the less sure of both.
      for (const seed of [1, 2, 3, 4]) {
        const hot = await ask({ sampling: { temperature: 5, top_p: 1, seed }, min_confidence: least })
        if (isWithheld) t.match(hot, { answer: null, abstained: true, reason: 'low_probability_correct' })
        t.ok(hot.probability_correct !== null && hot.probability_correct <= probability)
      }
    }
  })

  await t.test('which sentence was attended to', async (t) => {
    const { evidence } = await ask({ attention: 'sentences' })
    t.ok(evidence.some(({ attended }) => attended))
    for (const { text, attended } of evidence) {
      if (!attended) continue
      t.ok(attended.share > 0 && attended.share <= 1)
      t.match(text.slice(attended.start, attended.end), /^[A-Z].*\.$/, 'a whole sentence')
    }
    t.ok((await ask({})).evidence.every((passage) => !('attended' in passage)))
    const [cut] = (await ask({ attention: 'sentences', context_tokens: 16 })).evidence
    t.ok(!cut?.attended || cut.attended.start === 0, 'nothing beyond what was read')
    t.equal(
      (await ask({ attention: 'sentences', packing: 'text' })).evidence.find(({ attended }) => attended),
      undefined,
    )
  })

  await t.test('what the answer hangs on', async (t) => {
    const { answer, explanation, evidence } = await ask({ explain: 'drop' })
    t.ok(explanation && explanation.logprob < 0)
    t.same(explanation?.dropped.map(({ id }) => id).sort(), ['1', '2', '3'])
    for (const { id, changed, answer: other } of explanation?.dropped ?? []) {
      t.equal(changed, explanation?.hangs_on.includes(id))
      if (other === answer) t.notOk(changed)
    }
    const saying = evidence.filter(({ highlights }) => highlights.length > 0).map(({ id }) => id)
    const without = await ask({
      passages: CORPUS.filter(([id = '']) => !saying.includes(id)).map(([id, text, title]) => ({ id, text, title })),
    })
    t.not(without.answer, answer, 'without all passages that say it, there is another answer')
    const change = (id: string) => explanation?.dropped.find((passage) => passage.id === id)?.logprob_change ?? 0
    t.ok(
      saying.some((id) => change(id) !== 0),
      'what a passage that says it does for the answer is told',
    )
    t.match(await ask({ explain: 'drop', min_confidence: 1 }), { abstained: true, explanation: null })
  })

  await t.test('bad values are refused by name', async (t) => {
    for (const [payload, field] of [
      [{ min_confidence: 1.5 }, 'min_confidence'],
      [{ min_confidence: '0.5' }, 'min_confidence'],
      [{ explain: 'shuffle' }, 'explain'],
      [{ explain: 'drop', mode: 'replug' }, 'explain'],
      [{ explain: 'drop', mode: 'closed-book' }, 'explain'],
      [{ attention: 'heads' }, 'attention'],
      [{ include_signals: 1 }, 'include_signals'],
    ] as const) {
      const { status, body } = await post<ErrorBody>('/v1/answer', { question: QUESTION, ...payload })
      t.equal(status, 400, JSON.stringify(payload))
      t.match(body.error, { code: 'invalid_request', field })
    }
  })

  await t.test("through OpenAI's client: a refusal", async (t) => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused' })
    const body = { model: 'cepe', messages: [{ role: 'user' as const, content: QUESTION }], cepe: { min_confidence: 1 } }
    const { choices, ...rest } = await client.chat.completions.create(body)
    t.match(choices[0]?.message, {
      content: /^The passages do not say for sure\. The nearest sentence: .+ \[.+\]$/,
      refusal: 'The passages do not say for sure.',
    })
    t.match(rest, { cepe: { abstained: true, reason: 'low_probability_correct', extract: { text: String }, probability_correct: Number } })
  })
})

t.test(
  'the setting withholds where a request does not say; a calibration of another reader is not used',
  { timeout: 380_000 },
  async (t) => {
    const server = await serverOf(t, { CEPE_CALIBRATION: '', CEPE_MIN_CONFIDENCE: '1' })
    const ask = async (payload: object) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${server.url}/v1/answer`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ question: QUESTION, ...payload }),
      })
      return response.json()
    }
    t.match(await (await fetch(`${server.url}/v1/info`)).json(), { calibration: null, min_confidence: 1 })
    t.match(await ask({}), { answer: null, abstained: true, reason: 'low_confidence', probability_correct: null })
    t.match(await ask({ min_confidence: 0 }), { answer: String, abstained: false, reason: null })
  },
)

t.test('a calibration of plain prompts does not judge those of a chat template', { timeout: 380_000 }, async (t) => {
  const server = await serverOf(t, { CEPE_CHAT_TEMPLATE: 'inst' })
  t.match(await (await fetch(`${server.url}/v1/info`)).json(), {
    calibration: null,
    min_confidence: 0,
    reader: { defaults: { chat_template: 'inst', demonstrations: 0, instruction: /^Reply with only the name/ } },
  })
  const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ question: QUESTION }) }
  t.match(await (await fetch(`${server.url}/v1/answer`, asked)).json(), { answer: String, abstained: false, probability_correct: null })
  t.match(server.stdout(), /tiny\.json is of chat_template \\?"none\\?", not of chat_template \\?"inst\\?", and is not used/)
})
