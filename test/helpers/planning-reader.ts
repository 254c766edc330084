import type { CepeManifest } from '../../models/manifest.ts'
import type { GenerateRequest, GenerateResult, Reader, ReplugRequest } from '../../src/inference/contract.ts'
import { answerResult, generateRequest, replugRequest } from '../../src/inference/worker/tasks/answer-parts.ts'
import { planRead, type PromptRequest } from '../../src/text/plan.ts'
import type { wordTokenizer } from '../fixtures/word-tokenizer.ts'

/** Tells what a model that saw these prompts and contexts says. */
export interface Oracle {
  generate(request: GenerateRequest): Promise<GenerateResult>
  replug(request: ReplugRequest): Promise<GenerateResult>
}

/** A reader that plans as the real one does, and asks an oracle instead of a model. */
export function planningReader(manifest: CepeManifest, tokenizer: ReturnType<typeof wordTokenizer>, oracle: Oracle): Reader {
  const { stopIds } = tokenizer
  const plan = (request: PromptRequest) =>
    planRead(request, { window: manifest.dims.window, hasEncoder: true, replugTokens: Infinity }, tokenizer)
  return {
    manifest,
    answer: async (read) => {
      const planned = await plan({ ...read, mode: read.mode === 'map-rerank' ? 'decoder-only' : read.mode })
      const decoded =
        read.mode === 'replug'
          ? await oracle.replug(replugRequest(read, planned, stopIds))
          : await oracle.generate(generateRequest(read, planned, stopIds))
      return {
        ...answerResult({ read, plan: planned, decoded, stopIds, tokenizer }),
        timingsMs: { plan: 0, ...decoded.timingsMs },
      }
    },
    /** Of the question's words, those that a passage says are likely. */
    likelihoods: ({ question, passages }) => {
      const words = (text: string): string[] => [...(text.toLowerCase().match(/\w+/g) ?? [])]
      const logprobs = passages.map(({ title, text }) =>
        words(question).map((word) => (words(`${title} ${text}`).includes(word) ? -0.1 : -5)),
      )
      return Promise.resolve({ logprobs, promptTokens: passages.length * 10 })
    },
    choices: async (read) => {
      const { contexts, contextOf, inDecoder } = await plan(read)
      return { logprobs: read.choices.map((_, i) => [-1 - i]), contextOf, inDecoder, contextTokenCounts: contexts.map(() => 7) }
    },
  }
}
