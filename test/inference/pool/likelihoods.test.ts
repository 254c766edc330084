import t from 'tap'
import { loadCepeManifest } from '../../../models/folder.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { loadTokenizer } from '../../../src/text/tokenizer.ts'
import { builtFixture } from '../../fixtures/built-fixture.ts'
import { largestDifference } from './golden-requests.ts'

const PASSAGES = [
  { title: 'w3', text: 'w4 w9 w7' },
  { title: 'w5', text: 'w11 w20' },
  { title: '', text: 'w30 w31 w32' },
]

await t.test('likelihoods of a question after passages', async (t) => {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const reader = await createReader({ modelDir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  const read = { question: 'w5 w9 w11', passages: PASSAGES, contextTokens: 64 }
  const { tokens, dims } = await loadCepeManifest(modelDir)
  const tokenizer = await loadTokenizer(modelDir, tokens)
  const front = tokens.bos_id === null ? [] : [tokens.bos_id]

  await t.test('are those of its tokens in the prompt, scored one by one', async (t) => {
    const { logprobs, promptTokens } = await reader.likelihoods(read)
    let expected = 0
    for (const [i, { title, text }] of PASSAGES.entries()) {
      const prompt = `Document (Title: ${title}): ${text}\n\nQuestion:`
      const promptIds = [...front, ...tokenizer.encode(prompt)]
      const continuation = tokenizer.encode(`${prompt} w5 w9 w11\n`).slice(promptIds.length - front.length)
      const [scored = []] = await reader.score({ promptIds, continuations: [continuation], contexts: [], contextTokens: 1 })
      t.ok(scored.length >= 3)
      t.ok(largestDifference(logprobs[i] ?? [], scored) < 1e-5, `passage ${i}`)
      expected += promptIds.length
    }
    t.equal(promptTokens, expected)
  })

  await t.test('a passage is read up to its tokens, and to the window', async (t) => {
    const long = { title: 'w3', text: 'w4 w9 w7 '.repeat(2000) }
    const some = await reader.likelihoods({ ...read, passages: [long], contextTokens: 12 })
    t.ok(some.promptTokens < 30, `${some.promptTokens} tokens`)
    const all = await reader.likelihoods({ ...read, passages: [long], contextTokens: 100_000 })
    t.ok(all.promptTokens > dims.window / 2 && all.promptTokens < dims.window, `${all.promptTokens} of ${dims.window}`)
    t.ok(all.logprobs.flat().every((logprob) => Number.isFinite(logprob) && logprob <= 0))
  })

  await t.test('a question that fills the window is refused', (t) =>
    t.rejects(reader.likelihoods({ ...read, question: 'w5 '.repeat(dims.window) }), { code: 'unprocessable', field: 'query' }),
  )
})
