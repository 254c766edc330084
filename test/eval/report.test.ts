import t from 'tap'
import { list, table, text, toHtml, toMarkdown } from '../../eval/report/blocks.ts'
import { exactMatchOverK } from '../../eval/tasks/open-domain-qa/figures.ts'
import { loadPlotter } from '../../eval/report/plot.ts'
import { publishedScores } from '../../eval/tasks/open-domain-qa/tables.ts'
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
    groups: [],
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

t.test("texts of questions and answers cannot break a report's layout", (t) => {
  const blocks = [text('a <b> & *c* | d'), table(['x', 'n'], [['one | two\nthree', '<script>alert(1)</script>']]), list(['[link](x)'])]
  t.equal(
    toMarkdown(blocks),
    'a &lt;b> &amp; \\*c\\* \\| d\n\n| x | n |\n| --- | ---: |\n| one \\| two three | &lt;script>alert(1)&lt;/script> |\n\n- \\[link\\](x)\n',
  )
  const html = toHtml('t & u', blocks, new Map())
  t.notMatch(html, /<script>/)
  const shown = [text('~~kept~~ at https://example.org/a_b'), list(['www.a_b.org', 'me@example.org'])]
  t.equal(toMarkdown(shown), '\\~\\~kept\\~\\~ at https\\://example.org/a\\_b\n\n- www\\.a\\_b.org\n- me@example.org\n')
  t.match(
    toHtml('t', shown, new Map()),
    '<p>~~kept~~ at https://example.org/a_b</p>\n<ul>\n<li>www.a_b.org</li>\n<li>me@example.org</li>\n</ul>',
  )
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

t.test('published scores: the shipped file is valid', (t) => {
  const shipped = publishedScores()
  t.match(shipped, { source: /2402\.16617v1, Table 7/ })
  t.equal(shipped.scores.length, 90)
  t.match(
    shipped.scores.filter(({ model, method, k }) => model === 'CEPE-LLaMA-2-7B' && method === 'decoder-only' && k === 10),
    [{ exact_match: 32.27 }, { exact_match: 62.09 }, { exact_match: 34.67 }],
    "the row of its frozen decoder stands beside a CEPE model's",
  )
  t.end()
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
