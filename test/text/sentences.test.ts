import t from 'tap'
import { splitDocument } from '../../index/read/units.ts'
import { attendedSentences } from '../../src/inference/worker/tasks/answer-parts.ts'
import { highlights } from '../../src/rag/evidence.ts'
import { unitsOf } from '../../src/text/document/passage-chunks.ts'

/** Units of text that segmenters walked through while `use` ran: each segment that is taken costs one pass over the text it is in. */
async function workOf(use: () => unknown): Promise<number> {
  const segment = Reflect.get<Intl.Segmenter, 'segment'>(Intl.Segmenter.prototype, 'segment')
  let work = 0
  Intl.Segmenter.prototype.segment = function (text) {
    const segments = segment.call(this, text)
    work += text.length
    const counted = function* () {
      for (const one of segments) {
        work += text.length
        yield one
      }
      return undefined
    }
    return { containing: (at?: number) => segments.containing(at), [Symbol.iterator]: counted }
  }
  try {
    await use()
  } finally {
    Intl.Segmenter.prototype.segment = segment
  }
  return work
}

const users: Readonly<Record<string, (text: string) => unknown>> = {
  sections: (text) => [...unitsOf(text)],
  highlights: (text) => highlights(`${text} Answer.`, 'answer'),
  split: (text) => [...splitDocument({ id: 'd', title: '', text })],
  attended: (text) =>
    attendedSentences(
      {
        read: { passages: [{ title: '', text }] },
        plan: { contextOf: [0] },
        decoded: {
          contextShares: [1],
          contextTokenCounts: [text.length],
          tokenShares: new Float64Array(text.length).fill(1 / text.length),
        },
        tokenizer: { encode: (part) => ({ length: part.length }) as number[] },
      },
      () => Promise.resolve(),
    ),
}

const texts: Readonly<Record<string, string>> = {
  'short sentences': 'Mr. '.repeat(500),
  'hard-wrapped prose': 'The river crosses the old town of the north, and it is long.\nIt is frozen\nin winter. '.repeat(24),
  'prose in one line': 'The river crosses the old town. It is frozen in winter, as e.g. the lake is. '.repeat(26),
  'no letters': '? * '.repeat(500),
  'one sentence': 'and so on '.repeat(200),
  'one word': 'a'.repeat(2000),
  'a script without spaces': '川は北の古い町を流れる。'.repeat(170),
}

for (const [user, use] of Object.entries(users)) {
  await t.test(`${user}: ten times the text is ten times the work`, async (t) => {
    for (const [name, text] of Object.entries(texts)) {
      const [once, tenfold] = [await workOf(() => use(text.repeat(4))), await workOf(() => use(text.repeat(40)))]
      t.ok(tenfold <= 20 * once, `${name}: ${once} and ${tenfold}`)
    }
  })
}
