import { setTimeout as sleep } from 'node:timers/promises'
import type { Embed } from '../../index/contract.ts'
import { CodedError } from '../../base/errors.ts'
import type { Embedder } from '../inference/contract.ts'

const PASSING = ['overloaded', 'inference_failed', 'deadline_exceeded', 'not_ready']
const ATTEMPTS = 6

/**
 * The embedder as bulk work uses it: behind questions, and tried again when it is busy or its process was replaced, since
 * a job of hours must not end with one child. The waits grow to half a minute in all.
 */
export function bulkEmbed(embedder: Embedder): Embed {
  return async (texts, signal) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await embedder.embed(texts, { priority: 'bulk', ...(signal && { signal }) })
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof CodedError) || !PASSING.includes(error.code) || attempt === ATTEMPTS) throw error
        await sleep(2 ** attempt * 250, undefined, signal ? { signal } : {})
      }
    }
  }
}
