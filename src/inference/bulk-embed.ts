import { setTimeout as sleep } from 'node:timers/promises'
import type { Embed } from '../../index/contract.ts'
import { CodedError } from '../../base/errors.ts'
import { promptOf } from '../../models/manifest.ts'
import type { Embedder } from './contract.ts'

const PASSING = ['overloaded', 'inference_failed', 'deadline_exceeded', 'not_ready']
const ATTEMPTS = 6

/** Embeds passages, or questions to measure with, as bulk work: after the model's prompt, at lower priority than questions, and with retries. */
export function bulkEmbed(embedder: Embedder, kind: 'query' | 'passage' = 'passage'): Embed {
  const prompt = promptOf(embedder.manifest, kind)
  return (texts, signal) => {
    const prompted = texts.map((text) => prompt + text)
    return withRetry(() => embedder.embed(prompted, { priority: 'bulk', signal }), signal)
  }
}

/** Retries while a model is busy or its process is replaced: hours of work must not fail with it. Delays grow, to half a minute in all. */
export async function withRetry<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof CodedError) || !PASSING.includes(error.code) || attempt === ATTEMPTS) throw error
      await sleep(2 ** attempt * 250, undefined, signal ? { signal } : {})
    }
  }
}
