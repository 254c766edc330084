import { sum } from '../../base/at.ts'
import { modelId } from '../../models/manifest.ts'
import type { AnswerRead, AnswerReadResult, Reader } from './contract.ts'
import { observed, type Observer, type Stage } from './observer.ts'

/** Wraps a reader to report its work to the observers of requests. */
export function observedReader<Own extends Reader>(reader: Own): Own {
  return {
    ...reader,
    answer: async (read, run) => {
      const result = await reader.answer(read, run)
      if (run?.observe) {
        const contextTokens = sum(result.contextTokenCounts)
        reportRead(run.observe, { ...result, ...result.written, contextTokens, asked: read, model: modelId(reader.manifest) })
      }
      return result
    },
    choices: async (read, run) => {
      const result = await observed(run?.observe, 'read', () => reader.choices(read, run))
      run?.observe?.tokens('context', sum(result.contextTokenCounts))
      return result
    },
    likelihoods: async (read, run) => {
      const result = await observed(run?.observe, 'read', () => reader.likelihoods(read, run))
      run?.observe?.tokens('prompt', result.promptTokens)
      return result
    },
  }
}

interface Told extends Pick<AnswerReadResult, 'timingsMs' | 'promptTokens' | 'logprobs' | 'stopped'> {
  readonly asked: Pick<AnswerRead, 'maxNewTokens' | 'sampling'>
  readonly model: string
  readonly contextTokens: number
}

/** Reports the durations of an answer's stages, which are sequential; the last one ends now. */
export function reportRead(observer: Observer, { timingsMs, promptTokens, contextTokens, logprobs, stopped, asked, model }: Told): void {
  const { queue, plan, encode, generate } = timingsMs
  let startedAt = performance.now() - (queue + plan + encode + generate)
  for (const [name, ms] of Object.entries({ queue, plan, encode, generate }) as [Stage, number][]) {
    observer.stage(name, startedAt, ms)
    startedAt += ms
  }
  observer.tokens('prompt', promptTokens)
  observer.tokens('context', contextTokens)
  observer.tokens('generated', logprobs.length)
  const { maxNewTokens: maxTokens, sampling } = asked
  observer.generated?.({ model, maxTokens, temperature: sampling?.temperature, finishReason: stopped ? 'stop' : 'length' })
}
