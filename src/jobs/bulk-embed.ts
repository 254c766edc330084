import { setTimeout as sleep } from 'node:timers/promises'
import type { Embed } from '../../index/contract.ts'
import { CodedError } from '../../base/errors.ts'
import type { Embedder } from '../inference/contract.ts'

const PASSING = ['overloaded', 'inference_failed', 'deadline_exceeded', 'not_ready']
const ATTEMPTS = 6

/**
 * Adapts the embedder for bulk work: runs at lower priority than questions and retries while it is busy or its process is replaced, since
 * a job of hours must not fail with one process. The delays grow, to half a minute in total.
 */
export function bulkEmbed(embedder: Embedder): Embed {
  return async (texts, signal) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await embedder.embed(texts, { priority: 'bulk', signal })
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof CodedError) || !PASSING.includes(error.code) || attempt === ATTEMPTS) throw error
        await sleep(2 ** attempt * 250, undefined, signal ? { signal } : {})
      }
    }
  }
}
