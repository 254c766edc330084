import type { Mode } from '../../src/text/plan.ts'
import type { AnswerClient } from '../client/client.ts'
import type { EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { MODEL_PROTOCOL } from '../tasks/open-domain-qa/protocol.ts'
import type { RealQuestions } from './questions.ts'

const RECALL_DEPTH = 40
const ENCODED_PASSAGES = 10

/** How questions about real text are asked in one run. */
export interface Asking {
  readonly name: string
  /** `supplied` is one passage: that of the question. */
  readonly retrieval: 'supplied' | 'hybrid'
  /** Passages per question. */
  readonly ks: readonly number[]
  /** 0: all passages through the encoder; null: the model's own. */
  readonly kDecoder: 0 | null
}

/**
 * The runs for a reader. Those that are read separately may be many passages, those of one prompt are few.
 * @param hasEncoder whether the reader can read through an encoder alone
 */
export function askings(mode: Mode, hasEncoder: boolean, ks?: readonly number[]): Asking[] {
  const all: Asking[] = [
    { name: 'supplied', retrieval: 'supplied', ks: [1], kDecoder: null },
    { name: 'supplied, encoder alone', retrieval: 'supplied', ks: [1], kDecoder: 0 },
    { name: 'hybrid', retrieval: 'hybrid', ks: ks ?? (mode === 'decoder-only' ? [3, 5] : [5, 10, 20, 40]), kDecoder: null },
    { name: 'hybrid, encoder alone', retrieval: 'hybrid', ks: [ENCODED_PASSAGES], kDecoder: 0 },
  ]
  return all.filter(({ kDecoder }) => kDecoder === null || hasEncoder)
}

export function optionsOf(
  { name, retrieval, ks, kDecoder }: Asking,
  { mode, questions, limit }: { readonly mode: Mode; readonly questions: string; readonly limit: number | undefined },
): EvaluationOptions {
  return {
    dataset: `real text, ${name}`,
    questions,
    limit,
    protocol: {
      modes: [mode],
      ks: [...ks],
      encoder_passages: ['others'],
      ...MODEL_PROTOCOL,
      k_decoder: kDecoder,
      retrieval,
      recall_depth: retrieval === 'supplied' ? 1 : RECALL_DEPTH,
      seed: 0,
    },
    dumpPrompts: false,
  }
}

/** The pipeline over a corpus without the passages that answer a question. */
export function withoutAnswers(client: AnswerClient, isAnsweredBy: RealQuestions['isAnsweredBy']): AnswerClient {
  return {
    ...client,
    search: async (request) => {
      const { k = RECALL_DEPTH, query } = request
      const found = await client.search({ ...request, k: 2 * k })
      return { ...found, passages: found.passages.filter((passage) => !isAnsweredBy.get(query)?.(passage)).slice(0, k) }
    },
  }
}
