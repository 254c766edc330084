import path from 'node:path'
import t from 'tap'
import { demoTargets } from '../../eval/suites/demo.ts'
import { list, table, text, toHtml, toMarkdown } from '../../eval/report/blocks.ts'
import { exactMatchOverK } from '../../eval/tasks/open-domain-qa/figures.ts'
import { loadPlotter } from '../../eval/report/plot.ts'
import { readPublished } from '../../eval/tasks/open-domain-qa/tables.ts'
import type { EvalRecord } from '../../eval/tasks/open-domain-qa/record.ts'
import type { SettingSummary, Summary } from '../../eval/tasks/open-domain-qa/summary.ts'

function estimate(mean: number) {
  return { mean, low: mean - 0.05, high: mean + 0.05, n: 100 }
}
const latency = { mean: 1, p50: 1, p95: 1 }
function setting(method: string, k: number, em: number, aurocUnanswerable = Number.NaN): SettingSummary {
  return {
    method,
    k,
    exactMatch: estimate(em),
    f1: estimate(em),
    substringMatch: estimate(em),
    popqa: null,
    groups: {},
    riskCoverage: { points: [], area: 0 },
    aurocCorrect: 0.5,
    aurocUnanswerable,
    latencyMs: { queue: latency, encode: latency, generate: latency, total: latency },
    promptTokens: 1,
    contextTokens: 1,
    passagesInDecoder: 3.25,
    passagesInEncoder: 1,
  }
}
type Figures = readonly [cepe: readonly [number, number, number], closedBook: number, recall: number, auroc: number]

function summary(...[cepe, closedBook, recall, auroc]: Figures): Summary {
  return {
    asked: 1,
    scored: 1,
    unanswerable: 1,
    problems: [],
    settings: [
      setting('cepe', 10, cepe[0], auroc),
      setting('cepe', 20, cepe[1]),
      setting('cepe', 40, cepe[2]),
      setting('closed-book', 0, closedBook),
    ],
    retrieval: {
      recall: [{ k: 5, estimate: estimate(recall) }],
      curve: [],
      ...{ goldRecall: [], ndcg: [], mrr: [], goldNdcg: [], goldMrr: [] },
      latencyMs: null,
    },
  }
}

const answered = (which: string, confidence: number, probability: number): EvalRecord => ({
  id: which,
  question: 'q',
  answers: [],
  answerable: which === 'attribute',
  groups: { class: which },
  demonstrations: [],
  has_gold_passage: false,
  retrieval: null,
  predictions: [
    {
      method: 'cepe',
      k: 10,
      answer: 'a',
      confidence,
      probability_correct: probability,
      finish_reason: 'stop',
      prompt_sha256: '',
      prompt_tokens: 1,
      context_tokens: 1,
      generated_tokens: 1,
      in_decoder: 0,
      in_encoder: 1,
      attention: [],
      timings_ms: { queue: 0, encode: 0, generate: 0, total: 0 },
    },
  ],
})

t.test("the demo's targets are met, or missed, one by one", (t) => {
  /** Confidence and probability of every answer, without an answer in the corpus and with one. */
  type Sure = readonly [number, number]
  const subject = { method: 'cepe', k: 10, more: [20, 40] } as const
  const targets = (args: Figures, free: number, unanswerable: Sure, attribute: Sure) =>
    demoTargets(
      summary(...args),
      summary([free, 0, 0], 0, args[2], 1),
      [answered('attribute', ...attribute), answered('entity absent', ...unanswerable), answered('entity present', ...unanswerable)],
      subject,
    )
  const met = (...args: Parameters<typeof targets>) => targets(...args).map((target) => target.met)
  t.same(new Set(met([[0.88, 0.87, 0.861], 0.1, 0.96, 0.88], 0.6, [0.9, 0.5], [0.95, 0.95])), new Set([true]))
  t.same(new Set(met([[0.87, 0.84, 0.83], 0.88, 0.94, 0.79], 0.54, [0.91, 0.95], [0.9, 0.6])), new Set([false]))
  const shown = targets([[0.8, 0.79, 0.77], 0.1, 0.96, 0.85], 0.5, [0.95, 0.95], [0.9, 0.9])
  t.ok(shown.some(({ what, measured, met: reached }) => /k = 40 \(k = 10 less 0\.02\)/.test(what) && measured === '0.770' && !reached))
  t.ok(shown.some(({ what, measured }) => /entity present: probability_correct above 0\.9/.test(what) && measured === '1.000'))
  const none = { ...summary([1, 1, 1], 0, 1, 1), settings: [] }
  t.throws(() => demoTargets(none, none, [], subject), /The demo run has no cepe at k = 10/)
  t.end()
})

t.test("texts of questions and answers cannot break a report's layout", (t) => {
  const blocks = [text('a <b> & *c* | d'), table(['x', 'n'], [['one | two\nthree', '<script>alert(1)</script>']]), list(['[link](x)'])]
  t.equal(
    toMarkdown(blocks),
    'a &lt;b> &amp; \\*c\\* \\| d\n\n| x | n |\n| --- | ---: |\n| one \\| two three | &lt;script>alert(1)&lt;/script> |\n\n- \\[link\\](x)\n',
  )
  const html = toHtml('t & u', blocks, new Map())
  t.notMatch(html, /<script>/)
  t.match(html, /<title>t &amp; u<\/title>/)
  t.end()
})

t.test('plots are SVG and PNG, with text', async (t) => {
  const plotter = await loadPlotter()
  const { svg, png } = await plotter.render(exactMatchOverK(summary([0.5, 0.6, 0.7], 0.1, 1, 1).settings))
  t.match(svg, /^<svg[^]*retrieved passages k[^]*closed-book/)
  t.same([...png.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47])
  const { svg: empty, png: emptyPng } = await plotter.render({ mark: 'point', data: { values: [] }, title: '' })
  t.ok(png.length > emptyPng.length && svg.length > empty.length)
})

t.test('published scores: the shipped file is valid, a broken one is named', async (t) => {
  const shipped = await readPublished()
  t.match(shipped, { source: /2402\.16617v1, Table 7/ })
  t.equal(shipped.scores.length, 90)
  t.match(
    shipped.scores.filter(({ model, method, k }) => model === 'CEPE-LLaMA-2-7B' && method === 'decoder-only' && k === 10),
    [{ exact_match: 32.27 }, { exact_match: 62.09 }, { exact_match: 34.67 }],
    "the row of its frozen decoder stands beside a CEPE model's",
  )
  const file = path.join(t.testdir({ 'p.json': '{"source": "x", "scores": [{"dataset": "nq"}]}' }), 'p.json')
  await t.rejects(readPublished(file), { code: 'options_invalid', message: /p\.json holds no published scores: .*scores/ })
})

t.test('a package that serving does not need is named where it is missing', async (t) => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  await t.rejects(
    loadPlotter(() => Promise.reject(missing)),
    { code: 'options_invalid', message: /^Drawing plots needs packages that are not installed: .*npm install --no-save vega / },
  )
  await t.rejects(
    loadPlotter(() => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  )
})
