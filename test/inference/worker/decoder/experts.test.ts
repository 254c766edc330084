import t from 'tap'
import { mulberry32 } from '../../../../base/random.ts'
import { argmax, logSoftmax } from '../../../../src/inference/worker/decoder/sampling.ts'
import { experts } from '../../../../src/inference/worker/decoder/step-decoding.ts'
import type { StepModel } from '../../../../src/inference/worker/decoder/step.ts'
import { float32, floats, integers, type Graph } from '../../../../src/inference/worker/runtime/session.ts'

const VOCABULARY = 6
const STOP = 0
const TRIALS = 300

/** Logits of the next token, made of all ids so far. */
function logitsOf(ids: readonly number[], trial: number): Float32Array {
  const random = mulberry32(ids.reduce((hash, id) => (Math.imul(hash, 31) + id + 1) | 0, trial))
  return Float32Array.from({ length: VOCABULARY }, () => 6 * random())
}

/** A step graph whose keys are the ids that it has read; `runs` has the ids of each run. */
function stepModel(trial: number, runs: number[][]): StepModel {
  const graph: Graph = {
    inputs: [],
    run: (feeds) => {
      const before = Array.from(floats(feeds, 'past_key_values.0.key'))
      const read = integers(feeds, 'input_ids')
      runs.push(read)
      const ids = [...before, ...read]
      const present = float32(Float32Array.from(ids), [1, 1, ids.length, 1])
      const logits = read.flatMap((_, i) => Array.from(logitsOf(ids.slice(0, before.length + i + 1), trial)))
      return Promise.resolve({
        logits: float32(Float32Array.from(logits), [1, read.length, VOCABULARY]),
        'present.0.key': present,
        'present.0.value': present,
      })
    },
    input: (_, bytes, dims) => float32(new Float32Array(bytes.buffer), dims),
    release: () => Promise.resolve(),
  }
  const dims = { layers: 1, kv_heads: 1, head_dim: 1, vocab_size: VOCABULARY, encoder_hidden_size: 1 }
  return { graph, dims, byLength: false, prefillTokens: 2, batchTokens: 100 } as unknown as StepModel
}

/** The definition, with every prompt read anew for every token. */
function expected(prompts: readonly number[][], weights: readonly number[], most: number, trial: number): number[] {
  const first = prompts.map((ids) => argmax(logitsOf(ids, trial)))
  const open = first.every((id) => id === STOP) ? [0] : [...prompts.keys()].filter((i) => first[i] !== STOP)
  const said: number[] = []
  while (said.length < most && said.at(-1) !== STOP) {
    const votes = open.map((i) => {
      const logprobs = logSoftmax(logitsOf([...(prompts[i] ?? []), ...said], trial))
      const id = argmax(logprobs)
      return { id, worth: Math.exp(logprobs[id] ?? 0) * (weights[i] ?? 0) }
    })
    said.push(votes.reduce((best, vote) => (vote.worth > best.worth ? vote : best)).id)
  }
  return said
}

await t.test('each token is the one that a passage is surest of, whatever is left unread', async (t) => {
  let unread = 0
  for (let trial = 0; trial < TRIALS; trial++) {
    const random = mulberry32(trial)
    const prompts = Array.from({ length: 4 }, () =>
      Array.from({ length: 1 + Math.floor(3 * random()) }, () => 1 + Math.floor(5 * random())),
    )
    const weights = [1, random(), random(), random()].sort((a, b) => b - a)
    const request = { prompts: prompts.map((ids) => ({ ids, score: 0 })), stopIds: [STOP], maxNewTokens: 5 }
    const runs: number[][] = []
    const given = await experts(stepModel(trial, runs), request, weights, { yieldPoint: () => Promise.resolve() })
    t.same(given.tokenIds, expected(prompts, weights, 5, trial), `trial ${trial}`)
    t.equal(given.logprobs.length, given.tokenIds.length)
    unread += prompts.length - given.promptsRead
  }
  t.ok(unread > TRIALS / 2, `${unread} of ${4 * TRIALS} prompts were not read`)
})

await t.test('text is sent as it is chosen, and whoever takes it can end the answer', async (t) => {
  const request = { prompts: [{ ids: [1], score: 0 }], stopIds: [], maxNewTokens: 5 }
  const sent: number[] = []
  const onToken = (id: number): boolean => sent.push(id) === 2
  const given = await experts(stepModel(1, []), request, [1], { yieldPoint: () => Promise.resolve(), onToken })
  t.same(given.tokenIds, sent)
  t.equal(sent.length, 2)
})
