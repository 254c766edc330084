import { at } from '../../base/at.ts'
import type { CepeManifest } from '../../models/manifest.ts'
import type { GenerateRequest, GenerateResult, Reader, ReplugRequest } from '../../src/inference/contract.ts'
import { cutContexts, planRead, type PromptRequest } from '../../src/text/plan.ts'
import type { wordTokenizer } from './word-tokenizer.ts'

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
      const planned = await plan(read)
      const { prompts, contexts, contextIds, contextOf, inDecoder } = planned
      const { maxNewTokens, contextTokens } = read
      const result =
        read.mode === 'replug'
          ? await oracle.replug({ prompts, temperature: read.replugTemperature, stopIds, maxNewTokens })
          : await oracle.generate({
              promptIds: at(prompts, 0).ids,
              contexts,
              ...(contextIds && { contextIds }),
              contextTokens,
              stopIds,
              maxNewTokens,
            })
      const stopped = stopIds.includes(at(result.tokenIds, result.tokenIds.length - 1))
      return {
        text: at(tokenizer.decode(result.tokenIds).split('\n'), 0).trim(),
        stopped,
        logprobs: result.logprobs,
        contextShares: result.contextShares,
        ...(result.attentionFocus && { attentionFocus: result.attentionFocus }),
        contextTokenCounts: result.contextTokenCounts,
        contextOf,
        inDecoder,
        promptTokens: prompts.reduce((sum, { ids }) => sum + ids.length, 0),
        prompts: read.includePrompts ? prompts.map(({ text }) => text) : [],
        contexts: read.includePrompts ? cutContexts(planned, contextTokens, tokenizer) : [],
        timingsMs: { plan: 0, ...result.timingsMs },
      }
    },
    choices: async (read) => {
      const { contexts, contextOf, inDecoder } = await plan(read)
      return { logprobs: read.choices.map((_, i) => [-1 - i]), contextOf, inDecoder, contextTokenCounts: contexts.map(() => 7) }
    },
  }
}
