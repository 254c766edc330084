import { setTimeout as delay } from 'node:timers/promises'
import path from 'node:path'
import t from 'tap'
import type { RunOptions } from '../../src/inference/contract.ts'
import { loadDemonstrations } from '../../src/rag/demonstrations.ts'
import { createAdmission } from '../../src/inference/pool/admission.ts'
import { answerQuestion } from '../../src/rag/answer.ts'
import { questionCost } from '../../src/rag/admission.ts'
import { confidence } from '../../src/inference/confidence.ts'
import { scoreChoices } from '../../src/rag/score.ts'
import { resolveRequest } from '../../src/rag/resolve-request.ts'
import { recordingServices } from '../helpers/recording-services.ts'

t.test('cepe: the first k_decoder passages stand in the prompt, the others go to the encoder', async (t) => {
  const { services, asked } = recordingServices()
  const response = await answerQuestion({ question: 'what' }, services)
  t.equal(response.answer, 'yes')
  t.equal(response.finish_reason, 'stop')
  t.same(
    response.evidence.map((e) => e.role),
    ['decoder', 'decoder', 'encoder', 'encoder', 'encoder', 'encoder'],
  )
  t.same(
    response.evidence.map((e) => e.attention),
    [null, null, 0.25, 0.25, 0.25, 0.25],
  )
  t.same(
    asked.generate[0]?.contexts,
    [2, 3, 4, 5].map((i) => `Document (Title: T${i}): text ${i}`),
  )
  t.equal(response.usage.context_tokens, 28)
  t.match(response.index, { table: 'passages', version: 3 })
})

t.test('every text of a request is read composed, as stored passages are', async (t) => {
  const { services } = recordingServices()
  const seen: object[] = []
  const { reader } = services
  const watched = {
    ...services,
    reader: {
      ...reader,
      answer: (...given: Parameters<typeof reader.answer>) => {
        seen.push(given[0])
        return reader.answer({ ...given[0], earlier: [], chatTemplate: 'none' }, given[1])
      },
      choices: (...given: Parameters<typeof reader.choices>) => {
        seen.push(given[0])
        return reader.choices(...given)
      },
    },
  }
  const text = 'Cafe\u0301'
  const composed = 'Caf\u00e9'
  const passage = { title: text, text }
  const demonstrations = [{ question: text, answer: text, passage }]
  await answerQuestion(
    {
      question: text,
      passages: [passage],
      demonstrations,
      stop: [text],
      instruction: text,
      chat_template: 'tokenizer',
      earlier: [{ question: text, answer: text }],
    },
    watched,
  )
  const { choices } = await scoreChoices({ question: text, choices: [text, 'tea'], passages: [passage] }, watched)
  t.same(
    choices.map(({ choice }) => choice),
    [text, 'tea'],
    'given back as they were sent',
  )
  const read = { title: composed, text: composed }
  t.match(seen, [
    {
      question: composed,
      passages: [read],
      demonstrations: [{ question: composed, answer: composed, passage: read }],
      stop: [composed],
      instruction: composed,
      earlier: [
        { role: 'user', content: composed },
        { role: 'assistant', content: composed },
      ],
    },
    { question: composed, choices: [composed, 'tea'], passages: [read] },
  ])
})

t.test('encoder_passages all: the encoder reads every passage', async (t) => {
  const { services, asked } = recordingServices()
  const response = await answerQuestion({ question: 'what', encoder_passages: 'all' }, services)
  t.equal(asked.generate[0]?.contexts.length, 6)
  t.same(
    response.evidence.map((e) => e.role),
    ['both', 'both', 'encoder', 'encoder', 'encoder', 'encoder'],
  )
})

t.test('a decoder passage that does not fit the window moves to the encoder', async (t) => {
  const { services, asked } = recordingServices({ window: 28 })
  const response = await answerQuestion({ question: 'what', k_decoder: 6 }, services)
  const inDecoder = response.evidence.filter((e) => e.role === 'decoder').length
  t.ok(inDecoder > 0 && inDecoder < 6)
  t.equal(asked.generate[0]?.contexts.length, 6 - inDecoder)
})

t.test('decoder-only: nothing is encoded, what does not fit is unused', async (t) => {
  const { services, asked } = recordingServices({ window: 28 })
  const response = await answerQuestion({ question: 'what', mode: 'decoder-only' }, services)
  t.same(asked.generate[0]?.contexts, [])
  t.same(new Set(response.evidence.map((e) => e.role)), new Set(['decoder', 'unused']))
})

t.test('closed-book: nothing is retrieved, demonstrations lose their passages', async (t) => {
  const { services, asked } = recordingServices()
  const response = await answerQuestion({ question: 'what', mode: 'closed-book', demonstrations: 1, include_prompts: true }, services)
  t.same(asked.k, [])
  t.same(response.evidence, [])
  t.equal(response.index, null)
  t.same(response.prompts, ['Question: dq\nAnswer: da\n\nQuestion: what\nAnswer:'])
})

t.test('replug: one prompt per passage with its score', async (t) => {
  const { services, asked } = recordingServices()
  await answerQuestion({ question: 'what', mode: 'replug', k: 3 }, services)
  t.same(
    asked.replug[0]?.prompts.map((p) => p.score),
    [10, 9, 8],
  )
})

t.test('k 0 answers without passages; supplied passages are not retrieved', async (t) => {
  const { services, asked } = recordingServices()
  t.same((await answerQuestion({ question: 'what', k: 0 }, services)).evidence, [])
  const supplied = await answerQuestion({ question: 'what', passages: [{ title: 'X', text: 'y' }] }, services)
  t.match(supplied.evidence, [{ id: '1', title: 'X', score: null }])
  const named = [{ text: 'a' }, { id: '1', text: 'b' }, { id: '4', text: 'c' }]
  const mixed = await answerQuestion({ question: 'what', k: 3, passages: named.map((passage) => ({ title: '', ...passage })) }, services)
  t.same(mixed.evidence.map(({ id, text }) => `${id} ${text}`).sort(), ['1 b', '4 c', '7 a'], 'no number that is another passage’s id')
  t.same(asked.k, [])
})

t.test('given passages are read, or refused with the field that excludes them', async (t) => {
  const { services: own } = recordingServices()
  const services = { ...own, retriever: { ...own.retriever, collection: () => Promise.resolve(own.retriever.index) } }
  const given = { question: 'what', passages: [{ title: '', text: 'a' }] }
  for (const [more, field] of [
    [{ mode: 'closed-book' }, 'passages'],
    [{ filter: { source: 'a.txt' } }, 'filter'],
    [{ method: 'text' }, 'method'],
    [{ collection: 'law' }, 'collection'],
  ] as const)
    await t.rejects(answerQuestion({ ...given, ...more }, services), { code: 'invalid_request', field, message: /: omit/ })
  const twice = { question: 'what', passages: ['a', 'b', 'a'].map((id) => ({ id, title: '', text: id })) }
  const error = {
    code: 'invalid_request',
    field: 'passages.2.id',
    message: 'passages.2.id is that of an earlier passage: give each its own.',
  }
  await t.rejects(answerQuestion(twice, services), error)
  await t.rejects(scoreChoices({ ...twice, choices: ['a'] }, services), error)
  for (const unread of [{ filter: { source: 'a.txt' } }, { method: 'text' }, { collection: 'law' }] as const) {
    const [field = ''] = Object.keys(unread)
    const message = `${field} selects from the index, and passages are given: omit one of them.`
    await t.rejects(answerQuestion({ question: 'what', passages: [], ...unread }, services), { code: 'invalid_request', field, message })
  }
  for (const choices of [
    ['a', 'b', 'a'],
    ['\u00e9', 'b', ' e\u0301'],
  ])
    await t.rejects(scoreChoices({ ...given, choices }, services), {
      code: 'invalid_request',
      field: 'choices.2',
      message: 'choices.2 is an earlier choice again, and would share its probability: name each once.',
    })
  const scored = scoreChoices({ ...given, choices: ['a'], filter: { source: 'a.txt' } }, services)
  await t.rejects(scored, { code: 'invalid_request', field: 'filter' })
  t.match(await answerQuestion({ ...given, filter: {} }, services), { answer: 'yes' })
  t.match(await answerQuestion({ question: 'what', mode: 'closed-book', k: 0 }, services), { answer: 'yes' })
  for (const unread of [
    { filter: { source: 'a.txt' } },
    { method: 'text' },
    { rerank: true },
    { k: 3 },
    { attention: 'sentences' },
  ] as const) {
    const [field = ''] = Object.keys(unread)
    const message = `${field} has no effect in closed-book mode, which reads no passages: omit it, or choose another mode.`
    await t.rejects(answerQuestion({ question: 'what', mode: 'closed-book', ...unread }, services), {
      code: 'invalid_request',
      field,
      message,
    })
  }
})

t.test('an option that the mode does not read is refused with the modes that do', async (t) => {
  const { services, asked } = recordingServices()
  for (const mode of ['cepe', 'decoder-only', 'map-rerank', 'experts', 'closed-book'] as const)
    await t.rejects(answerQuestion({ question: 'what', mode, replug_temperature: 2 }, services), {
      code: 'invalid_request',
      field: 'replug_temperature',
      message: `replug_temperature is not read in ${mode} mode: omit it, or use mode replug.`,
    })
  for (const mode of ['decoder-only', 'experts', 'replug', 'closed-book'] as const)
    await t.rejects(answerQuestion({ question: 'what', mode, encoder_passages: 'all' }, services), {
      field: 'encoder_passages',
      message: `encoder_passages is not read in ${mode} mode: omit it, or use mode cepe or map-rerank.`,
    })
  for (const mode of ['decoder-only', 'experts', 'replug', 'closed-book'] as const)
    await t.rejects(answerQuestion({ question: 'what', mode, k_decoder: 0 }, services), {
      field: 'k_decoder',
      message: `k_decoder is not read in ${mode} mode: omit it, or use mode cepe or map-rerank.`,
    })
  t.same([asked.generate, asked.replug], [[], []])
  t.match(await answerQuestion({ question: 'what', mode: 'replug', replug_temperature: 2 }, services), { answer: 'yes' })
  const { manifest } = services.reader
  const decoder = { ...manifest, graphs: { ...manifest.graphs, encoder: null } }
  t.throws(() => resolveRequest({ question: 'what', k_decoder: 1 }, decoder, []), {
    field: 'k_decoder',
    message: 'k_decoder is not read in decoder-only mode: omit it.',
  })
})

t.test('scores read k_decoder where the model scores through its encoder, and refuse it elsewhere', async (t) => {
  const { services } = recordingServices()
  const { manifest } = services.reader
  const asked = { question: 'what', choices: ['a', 'b'], k_decoder: 3 }
  t.same(
    (await scoreChoices(asked, services)).evidence.map(({ role }) => role),
    ['decoder', 'decoder', 'decoder', 'encoder', 'encoder', 'encoder'],
  )
  const reader = { ...services.reader, manifest: { ...manifest, qa_defaults: { ...manifest.qa_defaults, mode: 'map-rerank' as const } } }
  await t.rejects(scoreChoices(asked, { ...services, reader }), {
    field: 'k_decoder',
    message: 'k_decoder is not read by this model, which scores in decoder-only mode: omit it.',
  })
})

t.test('where passages are wanted and there are none, there is no answer, and the model is not asked', async (t) => {
  const { services, asked } = recordingServices({ found: 0 })
  const nothing = { answer: null, reason: 'no_passages', finish_reason: null, confidence: 0, evidence: [] }
  t.match(await answerQuestion({ question: 'what', filter: { source: 'nowhere' } }, services), { ...nothing, index: { table: 'passages' } })
  for (const mode of ['cepe', 'decoder-only', 'map-rerank', 'replug'] as const)
    t.match(await answerQuestion({ question: 'what', passages: [], mode }, services), nothing)
  t.same([asked.generate, asked.replug], [[], []])
  t.match(await answerQuestion({ question: 'what', passages: [], mode: 'closed-book', k: 0 }, services), { answer: 'yes', reason: null })
  t.match(await answerQuestion({ question: 'what', k: 0 }, services), { answer: 'yes', reason: null })
  t.match(await scoreChoices({ question: 'what', choices: ['a'], passages: [] }, services), {
    choices: [],
    best: null,
    reason: 'no_passages',
  })
})

t.test('a refused question costs nothing: it is neither embedded nor searched', async (t) => {
  const { services, asked } = recordingServices()
  const full = createAdmission({ maxWaiting: 0, concurrency: 1 })
  const permit = full.enter({ cost: 1 })
  let embedded = 0
  const embed: typeof services.retriever.embedder.embed = (...args) => {
    embedded++
    return services.retriever.embedder.embed(...args)
  }
  const retriever = { ...services.retriever, embedder: { ...services.retriever.embedder, embed } }
  const busy = { ...services, retriever, admission: full }
  const refused: (() => Promise<unknown>)[] = [
    () => answerQuestion({ question: 'what' }, busy),
    () => scoreChoices({ question: 'what', choices: ['a'] }, busy),
  ]
  for (const ask of refused) await t.rejects(ask(), { code: 'overloaded', retryAfterS: Number })
  t.equal(embedded, 0)
  t.same(asked.k, [])
  permit.release(true)
  t.equal((await answerQuestion({ question: 'what' }, busy)).answer, 'yes')
  await t.rejects(answerQuestion({ question: 'what', context_tokens: 300 }, busy), { code: 'invalid_request' })
  t.equal((await answerQuestion({ question: 'what' }, busy)).answer, 'yes', 'the place of what failed is free again')
})

t.test('one deadline for the whole question, and one client', async (t) => {
  const { services } = recordingServices()
  const seen: RunOptions[] = []
  const slow = 60
  const embed: typeof services.retriever.embedder.embed = async (texts, run) => {
    seen.push(run)
    await delay(slow)
    return services.retriever.embedder.embed(texts, run)
  }
  const choices: typeof services.reader.choices = (read, run = {}) => {
    seen.push(run)
    return services.reader.choices(read, run)
  }
  const retriever = { ...services.retriever, embedder: { ...services.retriever.embedder, embed } }
  const reader = { ...services.reader, choices }
  const run = { deadlineMs: 1000, client: 'me' }
  await scoreChoices({ question: 'what', choices: ['a'] }, { ...services, retriever, reader }, run)
  t.match(seen, [
    { client: 'me', admitted: true },
    { client: 'me', admitted: true },
  ])
  t.ok((seen[1]?.deadlineMs ?? Infinity) <= 1000 - slow + 1)
})

t.test('scores say what the encoder read', async (t) => {
  const { services } = recordingServices()
  const scored = await scoreChoices({ question: 'what', choices: ['a', 'b'] }, services)
  t.match(scored, { best: 0, reason: null, choices: [{ logprob: -1 }, { logprob: -2 }] })
  t.same(
    scored.evidence.map(({ role, tokens, attention }) => [role, tokens, attention]),
    [0, 1, 2, 3, 4, 5].map((i) => (i < 2 ? ['decoder', null, null] : ['encoder', 7, null])),
  )
})

t.test('cost: prompts times tokens', (t) => {
  const { services } = recordingServices()
  const { manifest } = services.reader
  const cost = (request: Parameters<typeof resolveRequest>[0]) => questionCost(resolveRequest(request, manifest, []), manifest)
  const plain = cost({ question: 'what', k: 2 })
  t.ok(cost({ question: 'what', k: 60, mode: 'replug' }) > 10 * plain)
  t.ok(cost({ question: 'what', k: 200, mode: 'replug' }) > 3 * cost({ question: 'what', k: 60, mode: 'replug' }))
  t.ok(cost({ question: 'what', mode: 'closed-book' }) < plain)
  const scored = resolveRequest({ question: 'what', k: 2, mode: 'decoder-only' }, manifest, [])
  t.equal(
    questionCost(scored, manifest, ['an answer of words']) - questionCost(scored, manifest),
    6,
    'choices are scored in the modes that score',
  )
  t.end()
})

t.test('confidence is the geometric mean of the token probabilities', (t) => {
  t.ok(Math.abs(confidence([Math.log(0.5), Math.log(0.125)]) - 0.25) < 1e-12)
  t.equal(confidence([]), 0)
  t.end()
})

t.test('an empty answer has no confidence, however sure the reader is that it has none', async (t) => {
  const { services } = recordingServices()
  const answer = async (...args: Parameters<typeof services.reader.answer>) => ({
    ...(await services.reader.answer(...args)),
    text: '',
    stopped: true,
    logprobs: [Math.log(0.97)],
  })
  const response = await answerQuestion({ question: 'what' }, { ...services, reader: { ...services.reader, answer } })
  t.match(response, { answer: '', reason: 'no_answer', confidence: 0, finish_reason: 'stop' })
})

t.test("of the protocol's demonstrations those that the service has are taken", async (t) => {
  const { services } = recordingServices()
  const { manifest } = services.reader
  const reader = { ...services.reader, manifest: { ...manifest, qa_defaults: { ...manifest.qa_defaults, demonstrations: 2 } } }
  const prompts = async (demonstrations: typeof services.demonstrations) => {
    const request = { question: 'what', k: 0, include_prompts: true }
    return (await answerQuestion(request, { ...services, reader, demonstrations })).prompts
  }
  t.match(await prompts(services.demonstrations), [/^Document \(Title: dt\).*Question: dq/s])
  t.same(await prompts([]), ['Question: what\nAnswer:'])
})

t.test('a decoder without encoder is asked in mode decoder-only, and not in mode cepe', async (t) => {
  const { services, asked } = recordingServices()
  const { manifest } = services.reader
  const reader = { ...services.reader, manifest: { ...manifest, graphs: { ...manifest.graphs, encoder: null } } }
  const plain = { ...services, reader }
  const response = await answerQuestion({ question: 'what' }, plain)
  t.equal(response.mode, 'decoder-only')
  t.same(asked.generate[0]?.contexts, [])
  const field = 'mode'
  await t.rejects(answerQuestion({ question: 'q', mode: 'cepe' }, plain), { code: 'invalid_request', field, message: /decoder-only/ })
})

t.test('what cannot be served is refused by name', async (t) => {
  const { services } = recordingServices()
  await t.rejects(answerQuestion({ question: 'q', demonstrations: 2 }, services), /demonstrations is 2, but the service has 1/)
  await t.rejects(
    answerQuestion({ question: 'q', context_tokens: 300 }, services),
    /context_tokens is 300, but this model's encoder takes 256/,
  )
  await t.rejects(
    answerQuestion({ question: 'q', mode: 'replug', sampling: { temperature: 1, top_p: 1, seed: 1 } }, services),
    /sampling is not available in replug mode/,
  )
  await t.rejects(
    answerQuestion({ question: 'q', mode: 'cepe', explain: 'drop', sampling: { temperature: 1, top_p: 1, seed: 1 } }, services),
    /explain is not available with sampling: omit one of them/,
  )
})

t.test('demonstrations are read as they were written, or refused by file and line', async (t) => {
  const line = '{"question": "where is Malm\u00f6", "answer": "Sweden"}\n'
  const dir = t.testdir({
    utf8: `${line}\n${line.normalize('NFD')}`,
    latin: Buffer.from(line, 'latin1'),
    half: `${line}{"question": "q\\ud83d", "answer": "a"}\n`,
    emptied: '\n \n',
    twice: '{"question": "a", "answer": "b", "answer": "c"}\n',
    escape: '{"quest\\ion": "a", "answer": "b"}\n',
  })
  const one = { question: 'where is Malm\u00f6', answer: 'Sweden' }
  t.same(await loadDemonstrations(path.join(dir, 'utf8')), [one, one])
  await t.rejects(loadDemonstrations(path.join(dir, 'emptied')), { code: 'config_invalid', message: /emptied: it has no examples/ })
  await t.rejects(loadDemonstrations(path.join(dir, 'latin')), { code: 'config_invalid', message: /latin: it is not UTF-8/ })
  await t.rejects(loadDemonstrations(path.join(dir, 'escape')), { message: /escape: line 1 is not/ })
  await t.rejects(loadDemonstrations(path.join(dir, 'twice')), { message: /twice: line 1 has the name "answer" twice: set CEPE/ })
  await t.rejects(loadDemonstrations(path.join(dir, 'half')), {
    code: 'config_invalid',
    message: /half: line 2 is not.*: set CEPE_DEMONSTRATIONS to another/,
  })
})
