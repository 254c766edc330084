import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import type { AnswerReadResult } from '../../src/inference/contract.ts'
import { createAdmission } from '../../src/inference/pool/admission.ts'
import { answerQuestion } from '../../src/rag/answer.ts'
import { sealed } from '../../base/json.ts'
import { probabilityCorrect, type Calibration, SIGNALS, type Signals, chooseCalibration } from '../../src/rag/calibration.ts'
import { explanationCost, questionCost } from '../../src/rag/admission.ts'
import { nearestSentence, evidence } from '../../src/rag/evidence.ts'
import { assessAnswer, confidenceSignals, mayBeWithheld, lessSure } from '../../src/rag/confidence.ts'
import type { AnswerRequest } from '../../src/rag/schema.ts'
import { resolveRequest } from '../../src/rag/resolve-request.ts'
import { factServices } from '../helpers/fact-services.ts'
import { recordingServices } from '../helpers/recording-services.ts'

const PLAIN = { chat_template: 'none', instruction: '', mode: 'cepe', demonstrations: 0 } as const

/** A calibration that looks at one signal alone. */
function calibrationBy(name: (typeof SIGNALS)[number], { weight = 1, bias = 0, reader = 'r' } = {}): Calibration {
  const quality = { log_loss: 0.3, ece: 0.02, auroc: 0.9 }
  return {
    version: 1,
    fitted_at: '2026-11-22T00:00:00.000Z',
    reader,
    prompt: PLAIN,
    retriever: 'c',
    index: { table: 'passages', version: 3, passages: 20 },
    asked: { files: [], k: [null], answers: 40, right: 20, unanswerable: 10, unanswerable_share: null },
    l2: 1,
    bias,
    signals: SIGNALS.map((signal) => ({ name: signal, mean: 0, scale: 1, weight: signal === name ? weight : 0 })),
    cross_validated: { probability: quality, confidence: quality },
  }
}

const READ: AnswerReadResult = {
  text: 'the neva',
  stopped: true,
  logprobs: [Math.log(0.5), Math.log(0.8), Math.log(0.9)],
  contextShares: [0.1, 0.6, 0.3],
  attentionFocus: [
    { peak: 0.4, entropy: 0.2 },
    { peak: 0.2, entropy: 0.6 },
    { peak: 0.3, entropy: 0.4 },
  ],
  contextTokenCounts: [4, 4, 4],
  contextOf: [-1, 0, 1, 2],
  inDecoder: [true, false, false, false],
  promptTokens: 9,
  prompts: [],
  contexts: [],
  timingsMs: { queue: 0, plan: 0, encode: 0, generate: 0 },
}
const PASSAGES = [
  ['Moscow', 'It lies on the Moskva.'],
  ['Ladoga', 'A lake.'],
  ['Saint Petersburg', 'It is old. Waterways that cross it are the Neva and others.'],
  ['Neva', 'The Neva is long.'],
].map(([title = '', text = ''], i) => ({ id: `p${i}`, title, text, score: 4 - i }))
const QUESTION = 'Which waterway crosses Saint Petersburg?'
const asked = { question: QUESTION, mode: 'cepe' } as const
const near = (a: number | undefined, b: number) => a !== undefined && Math.abs(a - b) < 1e-9

t.test('signals of an answer', async (t) => {
  const found = await evidence(PASSAGES, READ, { shares: READ.contextShares, answer: READ.text })
  const signals = confidenceSignals(asked, READ, found)
  t.same(Object.keys(signals ?? {}), [...SIGNALS], 'each is measured, in the order of its name')
  t.ok(near(signals?.confidence, Math.cbrt(0.36)))
  t.ok(near(signals?.first_doubt, Math.log(1e-4 - Math.log(0.5))) && near(signals?.most_doubt, signals?.first_doubt ?? 0))
  t.ok(near(signals?.stop_doubt, Math.log(1e-4 - Math.log(0.9))))
  t.ok(near(signals?.token_peak, 0.3) && near(signals?.token_entropy, 0.4) && near(signals?.first_token_entropy, 0.2))
  t.ok(near(signals?.attended_rank, 1 / 3))
  t.ok(near(signals?.saying_attention, 0.9) && near(signals?.saying_share, 0.5) && near(signals?.saying_rank, 0.5))
  t.equal(signals?.sentence_overlap, 1, '"waterway" and "crosses" have their stems in the sentence; the title does not count')
  t.equal(signals?.title_overlap, 1)
  t.equal(signals?.echo, 0)
  const spread = signals?.passage_entropy ?? 0
  t.ok(spread > 0.5 && spread < 1)

  const unmeasured = { ...READ, attentionFocus: undefined, contextShares: [] }
  t.equal(confidenceSignals(asked, { ...READ, text: '' }, found), null)
  const prompted = confidenceSignals(asked, unmeasured as unknown as AnswerReadResult, found)
  t.match(prompted, { from_prompt: 1, passage_entropy: 0, token_peak: 0, saying_share: 0.5 }, 'read in the prompt alone')
  t.equal(signals?.from_prompt, 0)
  t.equal(confidenceSignals(asked, READ, []), null)
  for (const mode of ['experts', 'replug', 'closed-book'] as const) t.equal(confidenceSignals({ ...asked, mode }, READ, found), null)
  t.equal(confidenceSignals({ ...asked, question: 'Neva?' }, READ, found)?.echo, 0.5)
})

t.test('a calibration judges answers that were read as those it was fitted on', (t) => {
  const values = { ...Object.fromEntries(SIGNALS.map((name) => [name, 0])) } as Signals
  const encoded = calibrationBy('echo')
  const prompted = {
    ...encoded,
    signals: encoded.signals.map((signal) => (signal.name === 'from_prompt' ? { ...signal, mean: 1 } : signal)),
  }
  const both = { ...encoded, signals: encoded.signals.map((signal) => (signal.name === 'from_prompt' ? { ...signal, mean: 0.5 } : signal)) }
  for (const [calibration, withEncoder, inPrompt] of [
    [encoded, 0.5, null],
    [prompted, null, 0.5],
    [both, 0.5, 0.5],
  ] as const) {
    t.equal(probabilityCorrect(calibration, values), withEncoder)
    t.equal(probabilityCorrect(calibration, { ...values, from_prompt: 1 }), inPrompt)
  }
  t.end()
})

t.test('where nothing is set, an answer is withheld that is less likely right than wrong; confidence alone withholds none', (t) => {
  const signals = { ...Object.fromEntries(SIGNALS.map((name) => [name, 0])), echo: -1 } as Signals
  const calibration = calibrationBy('echo')
  t.match(assessAnswer(READ, signals, { calibration, minConfidence: undefined }), { abstained: true, reason: 'low_probability_correct' })
  t.match(assessAnswer(READ, { ...signals, echo: 1 }, { calibration, minConfidence: undefined }), { abstained: false })
  t.match(assessAnswer({ ...READ, logprobs: [-5] }, null, { calibration: null, minConfidence: undefined }), { abstained: false })
  t.match(assessAnswer(READ, signals, { calibration, minConfidence: 0 }), { abstained: false })
  t.equal(mayBeWithheld({ calibration, minConfidence: undefined }), true, 'not streamed before it is judged')
  t.equal(mayBeWithheld({ calibration, minConfidence: 0 }), false)
  t.equal(mayBeWithheld({ calibration: null, minConfidence: undefined }), false)
  t.end()
})

t.test('in the place of an answer: the sentence nearest to the question', async (t) => {
  const found = await evidence(PASSAGES, READ, { shares: READ.contextShares })
  t.same(nearestSentence(QUESTION, found), {
    id: 'p2',
    title: 'Saint Petersburg',
    start: 11,
    end: 59,
    text: 'Waterways that cross it are the Neva and others.',
  })
  t.match(nearestSentence('Xylophones?', found), { id: 'p0' }, 'of equals the first')
  t.equal(nearestSentence(QUESTION, []), null)
  const text = 'Press the button. Before you start the pump, check:\n- the oil\n  a) its level\n- the inlet valve\nThen start it.'
  const listed = await evidence([{ id: 'p', title: '', text, score: 1 }], { ...READ, contextOf: [-1] }, { shares: [] })
  t.match(nearestSentence('What do I check before I start the pump?', listed), {
    start: 18,
    text: 'Before you start the pump, check:\n- the oil\n  a) its level\n- the inlet valve',
  })
})

t.test('an answer below the least is withheld, by what is named in the reason', (t) => {
  const signals = { ...Object.fromEntries(SIGNALS.map((name) => [name, 0])), saying_share: 2 } as never
  const calibration = calibrationBy('saying_share')
  const probability = 1 / (1 + Math.exp(-2))
  t.ok(near(probabilityCorrect(calibration, signals) ?? undefined, probability))
  t.match(assessAnswer(READ, signals, { calibration, minConfidence: 0.88 }), {
    answer: 'the neva',
    abstained: false,
    reason: null,
    finish_reason: 'stop',
  })
  t.match(assessAnswer(READ, signals, { calibration, minConfidence: 0.89 }), {
    answer: null,
    abstained: true,
    reason: 'low_probability_correct',
    confidence: Math.cbrt(0.36),
  })
  t.match(assessAnswer(READ, null, { calibration, minConfidence: 0.7 }), {
    answer: 'the neva',
    probability_correct: null,
    abstained: false,
  })
  t.match(assessAnswer(READ, null, { calibration, minConfidence: 0.72 }), { answer: null, abstained: true, reason: 'low_confidence' })
  t.match(assessAnswer(READ, signals, { calibration: null, minConfidence: 0.72 }), { reason: 'low_confidence', probability_correct: null })
  t.match(assessAnswer({ ...READ, text: '' }, null, { calibration, minConfidence: 0 }), {
    answer: '',
    confidence: 0,
    abstained: false,
    reason: 'no_answer',
  })
  t.match(assessAnswer({ ...READ, text: '' }, null, { calibration, minConfidence: 0.01 }), { answer: null, abstained: true })
  const sure = { calibration: null, minConfidence: undefined }
  const [answered, empty] = [READ, { ...READ, text: '' }].map((read) => assessAnswer(read, null, sure))
  if (answered === undefined || empty === undefined) throw new Error('not assessed')
  t.match(lessSure(empty, answered), { answer: '', abstained: false, reason: 'no_answer' }, 'of a sampled answer, not of the greedy one')
  t.match(lessSure(answered, empty), { answer: 'the neva', abstained: false, reason: null })
  t.end()
})

t.test('calibrations on the disk are checked, and those of other readers left alone', async (t) => {
  const dir = t.testdir()
  const at = (name: string) => path.join(dir, name)
  const good = calibrationBy('confidence')
  const { signals } = good
  for (const [name, content] of [
    ['good.json', JSON.stringify(good)],
    ['sealed.json', JSON.stringify(sealed(good))],
    ['altered.json', JSON.stringify({ ...sealed(good), bias: 1 })],
    ['other.json', JSON.stringify({ ...good, reader: 'another' })],
    ['broken.json', '{"version": 1'],
    ['old.json', JSON.stringify({ ...good, version: 0 })],
    ['scaleless.json', JSON.stringify({ ...good, signals: signals.map((signal) => ({ ...signal, scale: 0 })) })],
    ['promptless.json', JSON.stringify({ ...good, prompt: undefined })],
    ['fewer.json', JSON.stringify({ ...good, signals: signals.slice(1) })],
    ['without-last.json', JSON.stringify({ ...good, signals: signals.slice(0, -1) })],
    ['in-other-order.json', JSON.stringify({ ...good, signals: signals.toReversed() })],
  ] as const)
    await writeFile(at(name), content)
  for (const [name, says] of [
    ['broken.json', /is not valid JSON/],
    ['altered.json', /altered\.json is damaged: its values are not those of its SHA-256: create it again \(cepe calibrate\)\.$/],
    ['old.json', /not what this version reads \(\/version/],
    ['scaleless.json', /\/signals\/0\/scale/],
    ['promptless.json', /not what this version reads \(.*prompt/],
    ['fewer.json', /weighs other signals/],
    ['without-last.json', /weighs other signals/],
    ['in-other-order.json', /weighs other signals/],
  ] as const)
    await t.rejects(chooseCalibration({ named: at(name), shipped: at('none.json') }, { reader: 'r' }), {
      code: 'config_invalid',
      field: 'CEPE_CALIBRATION',
      message: says,
    })

  const said: string[] = []
  const log = (_: string, message: string) => void said.push(message)
  const choose = (files: { named?: string; own?: string; shipped?: string }) =>
    chooseCalibration({ own: at('none.json'), shipped: at('none.json'), ...files }, { reader: 'r' }, log)
  t.same(await choose({ own: at('good.json') }), good)
  t.match(await choose({ own: at('sealed.json') }), good)
  t.same(await choose({ shipped: at('good.json') }), good)
  t.same(await choose({ named: at('good.json'), own: at('broken.json') }), good)
  t.equal(await choose({ named: '', own: at('good.json') }), undefined, 'switched off')
  t.equal(await choose({}), undefined)
  t.equal(await choose({ shipped: at('other.json') }), undefined)
  t.same(said, [], 'nobody asked for the shipped one')
  const built = (dtype: string) => `model-1b@0123456789ab-${dtype}-89abcdef`
  await writeFile(at('built.json'), JSON.stringify(calibrationBy('confidence', { reader: built('int8-blocks') })))
  const files = { own: at('none.json'), shipped: at('built.json') }
  t.match(await chooseCalibration(files, { reader: built('int8-blocks') }, log), { reader: built('int8-blocks') })
  t.equal(await chooseCalibration(files, { reader: built('int8-blocks').replace('0123', '0124') }, log), undefined)
  t.same(said, [], 'another checkpoint')
  const weighed = { ...calibrationBy('confidence', { reader: built('int8-blocks') }), weights: '01234567' }
  await writeFile(at('weighed.json'), JSON.stringify(weighed))
  const rebuilt = { reader: built('int8-blocks').replace('89abcdef', '89abcdee'), weights: '01234567' }
  t.same(await chooseCalibration({ shipped: at('weighed.json') }, rebuilt, log), weighed, 'other graphs of the same weights')
  t.equal(await chooseCalibration({ shipped: at('weighed.json') }, { ...rebuilt, weights: '01234568' }, log), undefined, 'other weights')
  t.equal(await chooseCalibration({ shipped: at('weighed.json') }, { reader: rebuilt.reader }, log), undefined)
  t.equal(await chooseCalibration(files, rebuilt, log), undefined, 'fitted before weights were recorded')
  t.equal(said.splice(0).length, 3)
  t.equal(await chooseCalibration(files, { reader: built('f16') }, log), undefined)
  t.match(said.splice(0), [/^The calibration that is shipped is of model-1b@.*-int8-blocks-.*, not of model-1b@.*-f16-.*cepe calibrate/])
  t.equal(await choose({ named: at('other.json') }), undefined)
  t.match(said.splice(0), [/other\.json is of another, not of r, and is not used/])
  t.same(await choose({ own: at('other.json'), shipped: at('good.json') }), good)
  t.same(await choose({ own: at('broken.json'), shipped: at('good.json') }), good)
  t.match(said, [/of another/, /is not used: .*broken\.json is not valid JSON/])
  await t.rejects(choose({ named: at('none.json') }), { code: 'config_invalid', message: /There is no calibration at .*none\.json/ })
  await t.rejects(choose({ named: at('broken.json') }), { code: 'config_invalid' })
})

t.test('a calibration judges the prompts that it was fitted on, and no others', async (t) => {
  const { services } = factServices()
  const plain = calibrationBy('confidence')
  const inst = { chat_template: 'inst', instruction: 'Be brief.', mode: 'cepe', demonstrations: 0 } as const
  const briefed = { ...plain, prompt: inst }
  const probability = async (calibration: Calibration, request: Partial<AnswerRequest> = {}) =>
    (await answerQuestion({ question: 'what is fact 7', min_confidence: 0, ...request }, { ...services, calibration })).probability_correct
  const briefly = { chat_template: 'inst', instruction: ' Be brief. ' } as const
  for (const [calibration, request, isJudged] of [
    [plain, {}, true],
    [plain, { chat_template: 'inst' }, false],
    [plain, { chat_template: 'inst', instruction: '' }, false],
    [plain, { instruction: 'Be brief.' }, false],
    [plain, { demonstrations: 1 }, false],
    [plain, { mode: 'map-rerank' }, false],
    [briefed, {}, false],
    [briefed, briefly, true],
    [briefed, { ...briefly, instruction: 'Be long.' }, false],
    [briefed, { ...briefly, mode: 'map-rerank' }, false],
    [briefed, { ...briefly, demonstrations: 1 }, false],
  ] as const)
    t.equal(typeof (await probability(calibration, request)), isJudged ? 'number' : 'object', JSON.stringify([calibration.prompt, request]))

  const focused: Calibration = { ...briefed, prompt: { ...briefed.prompt, focus: true } }
  const dir = t.testdir({
    'plain.json': JSON.stringify(plain),
    'inst.json': JSON.stringify(briefed),
    'focus.json': JSON.stringify(focused),
  })
  const said: string[] = []
  const choose = (name: string, now: object, files = { named: path.join(dir, name), shipped: '' }) =>
    chooseCalibration(files, { reader: 'r', ...inst, ...now }, (_, message) => void said.push(message))
  t.same(await choose('inst.json', {}), briefed)
  t.same(await choose('plain.json', { chat_template: 'none', instruction: '', demonstrations: 0 }), plain)
  t.same(await choose('focus.json', { focus: true }), focused)
  t.same(said, [])
  for (const [file, now, difference] of [
    ['plain.json', {}, 'chat_template "none", not of chat_template "inst"'],
    ['inst.json', { chat_template: 'none' }, 'chat_template "inst", not of chat_template "none"'],
    ['inst.json', { instruction: '' }, 'instruction "Be brief.", not of instruction ""'],
    ['inst.json', { mode: 'map-rerank' }, 'mode "cepe", not of mode "map-rerank"'],
    ['inst.json', { demonstrations: 2 }, 'demonstrations 0, not of demonstrations 2'],
    ['inst.json', { focus: true }, 'focus undefined, not of focus true'],
    ['focus.json', {}, 'focus true, not of focus undefined'],
  ] as const) {
    t.equal(await choose(file, now), undefined)
    t.match(said.splice(0), [`is of ${difference}, and is not used: create it again (cepe calibrate).`])
  }
  t.equal(await choose('', {}, { named: undefined, shipped: path.join(dir, 'plain.json') } as never), undefined)
  t.match(said, [/^The calibration that is shipped is of chat_template "none"/])
})

t.test('leaving passages out shows which one the answer hangs on', async (t) => {
  const { services, asked } = factServices()
  const response = await answerQuestion({ question: 'what is fact 7', k: 8, explain: 'drop', include_prompts: true }, services)
  const { explanation } = response
  t.match(explanation, { hangs_on: [], dropped: Array.from({ length: 5 }, () => ({ answer: 'a7', changed: false })) })
  t.equal(
    explanation?.dropped.every(({ rank }) => rank > 2),
    true,
    'the six encoded passages come first: their attention is known',
  )
  const few = await answerQuestion({ question: 'what is fact 7', k: 3, explain: 'drop' }, services)
  t.same(few.explanation?.hangs_on, ['p7'])
  t.match(
    few.explanation?.dropped.find(({ id }) => id === 'p7'),
    { rank: 1, answer: 'unknown', changed: true, logprob_change: Number },
  )
  t.equal(few.explanation?.dropped.length, 3)
  t.equal(asked.generate.length, 1 + 5 + 1 + 3)
  t.equal((await answerQuestion({ question: 'what is fact 7' }, services)).explanation, undefined)
  const none = await answerQuestion({ question: 'what is fact 7', explain: 'drop', min_confidence: 1 }, services)
  t.match(none, { answer: null, abstained: true, explanation: null })
  t.ok(
    none.evidence.every(({ highlights }) => highlights.length === 0),
    'what is withheld is not marked either',
  )
  for (const request of [
    { mode: 'replug' },
    { mode: 'closed-book' },
    { sampling: { temperature: 1, top_p: 1, seed: 1 } },
  ] as Partial<AnswerRequest>[])
    await t.rejects(answerQuestion({ question: 'q', explain: 'drop', ...request }, services), { code: 'invalid_request', field: 'explain' })
})

t.test('an explanation ends with its question: cancelled, or past its deadline', async (t) => {
  const controller = new AbortController()
  let readings = 0
  const { services } = factServices()
  const reader: typeof services.reader = {
    ...services.reader,
    answer: (read, run) => {
      if (++readings === 3) controller.abort()
      run?.signal?.throwIfAborted()
      return services.reader.answer(read, run)
    },
  }
  await t.rejects(answerQuestion({ question: 'what is fact 7', explain: 'drop' }, { ...services, reader }, { signal: controller.signal }))
  t.equal(readings, 3)
  const deadlines: number[] = []
  const noting: typeof services.reader = {
    ...services.reader,
    answer: (read, run) => {
      deadlines.push(run?.deadlineMs ?? Infinity)
      return services.reader.answer(read, run)
    },
  }
  await answerQuestion({ question: 'what is fact 7', explain: 'drop' }, { ...services, reader: noting }, { deadlineMs: 60_000 })
  t.equal(deadlines.length, 6)
  t.ok(
    deadlines.every((left, i) => left <= (deadlines[i - 1] ?? 60_000)),
    'each reading has what is left of the time',
  )
})

t.test('an explanation takes the place of the work that it is', async (t) => {
  const { services } = recordingServices()
  const { manifest } = services.reader
  const settled = (request: Partial<AnswerRequest>) => resolveRequest({ question: 'what', ...request }, manifest, [])
  const [one, six] = [1, 6].map((k) => explanationCost(settled({ k }), manifest))
  t.ok((six ?? 0) > 2 * (one ?? 0))
  t.equal(
    explanationCost(settled({ k: 60, k_decoder: 2 }), manifest),
    explanationCost(settled({ k: 6, k_decoder: 2 }), manifest),
    'so many at most',
  )
  const entered: number[] = []
  const admission = {
    enter: ({ cost }: { cost: number }) => {
      entered.push(cost)
      return { release: () => undefined }
    },
  }
  await answerQuestion({ question: 'what' }, { ...services, admission })
  await answerQuestion({ question: 'what', explain: 'drop' }, { ...services, admission })
  t.equal(entered[0], questionCost(settled({}), manifest))
  t.equal(entered[1], questionCost(settled({}), manifest) + explanationCost(settled({}), manifest))
})

t.test('a question costs as many prompts as are read of each passage', (t) => {
  const { manifest: tiny } = recordingServices().services.reader
  const manifest = { ...tiny, dims: { ...tiny.dims, window: 8192 } }
  const request = { question: 'why '.repeat(500), mode: 'map-rerank', k: 5, max_new_tokens: 25 } as const
  const asked = { ...resolveRequest(request, manifest, []), contextTokens: 256, demonstrations: [] }
  // 500 tokens of the question and 25 new ones in each prompt, 256 of the passage: once whole, once more in the two parts.
  t.equal(questionCost(asked, manifest), 256 + 5 * (525 + 256))
  t.equal(questionCost({ ...asked, focus: true }, manifest), 256 + 5 * (3 * 525 + 2 * 256))
  t.end()
})

t.test('small questions, which take their time for other things than tokens, do not make a large one look endless', (t) => {
  const { manifest } = recordingServices().services.reader
  const costOf = (request: Partial<AnswerRequest>) => questionCost(resolveRequest({ question: 'what', ...request }, manifest, []), manifest)
  let time = 0
  const admission = createAdmission({ maxWaiting: 4, concurrency: 1, now: () => time })
  const small = { cost: costOf({ mode: 'closed-book', max_new_tokens: 1 }), deadlineMs: 20_000 }
  for (let i = 0; i < 50; i++) {
    const permit = admission.enter(small)
    time += 50
    permit.release(true)
  }
  const before = admission.enter(small)
  t.doesNotThrow(() => admission.enter({ cost: costOf({ k: 60, k_decoder: 0 }), deadlineMs: 20_000 }).release(true))
  before.release(true)
  t.end()
})
