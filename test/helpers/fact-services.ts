import type { GenerateResult } from '../../src/inference/contract.ts'
import type { AnswerServices } from '../../src/rag/pipeline.ts'
import type { PassageSource } from '../../src/rag/retrieve.ts'
import { planningReader, type Oracle } from './planning-reader.ts'
import { recordingServices } from './recording-services.ts'

export const FACTS = 20

/** `fact 7 is a7`, with a title. */
function passage(i: number) {
  return { id: `p${i}`, title: `Fact ${i}`, text: `fact ${i} is a${i} indeed` }
}
function numberIn(text: string): number {
  return Number(/\d+/.exec(text)?.[0] ?? -1)
}

export interface FactOptions {
  /** Decoder positions, in words. */
  readonly window?: number
  /** Ranks by which the right passage is late: 0 finds it first. */
  readonly offset?: number
  /** Called before every answer; may throw. */
  readonly onAnswer?: (question: number) => void | Promise<void>
}

/**
 * A pipeline over twenty facts whose reader truly depends on what it is given: it answers `a7` to "what is fact 7"
 * where the prompt or an encoder context holds that fact, else "unknown" with low confidence.
 */
export function factServices({ window = 1000, offset = 0, onAnswer }: FactOptions = {}) {
  const { services: base, asked, tokenizer } = recordingServices({ window })
  const read = async (prompts: readonly (readonly number[])[], contexts: readonly string[]): Promise<GenerateResult> => {
    const texts = prompts.map((ids) => tokenizer.decode(ids))
    const question = numberIn(texts[0]?.slice(texts[0].lastIndexOf('Question:')) ?? '')
    await onAnswer?.(question)
    const known = [...texts, ...contexts].some((text) => text.includes(`Document (Title: Fact ${question}): `))
    return {
      tokenIds: [...tokenizer.encode(known ? ` a${question}` : ' unknown'), 1],
      logprobs: known ? [Math.log(0.9), Math.log(0.9)] : [Math.log(0.2), Math.log(0.2)],
      contextShares: contexts.map(() => 1 / contexts.length),
      attentionFocus: contexts.length === 0 ? [] : [0, 1].map(() => ({ peak: known ? 0.5 : 0.1, entropy: known ? 0.4 : 0.9 })),
      contextTokenCounts: contexts.map(() => 6),
      timingsMs: { queue: 0, encode: 1, generate: 2 },
    }
  }
  const oracle: Oracle = {
    generate: (request) => {
      asked.generate.push(request)
      const contexts = request.contextIds?.map((ids) => tokenizer.decode(ids)) ?? request.contexts
      return read([request.promptIds], contexts)
    },
    replug: (request) => {
      asked.replug.push(request)
      return read(
        request.prompts.map(({ ids }) => ids),
        [],
      )
    },
  }
  const ranked = (target: number, k: number) => {
    const order = Array.from({ length: FACTS }, (_, i) => (target - offset + i + FACTS) % FACTS)
    return order.slice(0, k).map((i, rank) => ({ ...passage(i), score: 10 - rank, rank: rank + 1 }))
  }
  const table: Awaited<ReturnType<PassageSource['view']>> = {
    model: { id: 'of the facts' },
    search: ([target = 0], { k }) => Promise.resolve(ranked(target, k)),
    searchText: (query, { k }) => Promise.resolve(ranked(numberIn(query), k)),
    searchHybrid: (query, _, { k }) => Promise.resolve(ranked(numberIn(query), k)),
    version: () => Promise.resolve({ table: 'passages', version: 3, passages: FACTS }),
  }
  const services: AnswerServices = {
    ...base,
    reader: planningReader(base.reader.manifest, tokenizer, oracle),
    retriever: {
      embedder: {
        ...base.retriever.embedder,
        embed: (texts) => Promise.resolve(texts.map((text) => new Float32Array([numberIn(text), 0]))),
      },
      index: { view: () => Promise.resolve(table) },
    },
  }
  return { services, asked }
}
