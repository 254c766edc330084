import { Type, type Static } from 'typebox'
import { ENCODING_MODES } from '../../../src/rag/resolve-request.ts'
import type { AnswerRequest } from '../../../src/rag/schema.ts'
import { MODES } from '../../../src/text/plan.ts'
import type { EvalPassage } from '../../datasets/question-set.ts'
import type { Demonstration } from '../../../src/text/prompt.ts'
import { invalidOption } from '../../run/options.ts'

function orServiceDefault(minimum: number) {
  return Type.Union([Type.Integer({ minimum }), Type.Null()], { description: "null: the service's own default for its model." })
}

/** Published data sets by their names on the command line and in published tables. */
export const DATASETS = ['nq', 'triviaqa', 'popqa'] as const
export const ENCODER_PASSAGES = ['others', 'all'] as const
export const RETRIEVALS = ['dense', 'text', 'hybrid', 'supplied'] as const

/** How questions are asked; part of a run's manifest. */
export const ProtocolSchema = Type.Object({
  modes: Type.Array(Type.Enum([...MODES]), { minItems: 1 }),
  ks: Type.Array(Type.Integer({ minimum: 1, maximum: 200 }), { minItems: 1, description: 'Passages per question, ascending.' }),
  encoder_passages: Type.Array(Type.Enum([...ENCODER_PASSAGES]), {
    minItems: 1,
    description:
      'Variants of the cepe mode: others: the encoder reads the passages that the decoder prompt does not hold; all: it reads all of them.',
  }),
  mode_ks: Type.Optional(
    Type.Partial(Type.Record(Type.Enum([...MODES]), Type.Array(Type.Integer({ minimum: 1, maximum: 200 }), { minItems: 1 })), {
      description: 'Passages per question of a mode, where they are not `ks`.',
    }),
  ),
  packing: Type.Optional(
    Type.Enum(['passages', 'text'], {
      description: 'How prompts are cut: as the service does where absent; text: as the published evaluation does.',
    }),
  ),
  shots: orServiceDefault(0),
  k_decoder: orServiceDefault(0),
  context_tokens: orServiceDefault(1),
  max_new_tokens: orServiceDefault(1),
  retrieval: Type.Enum([...RETRIEVALS], { description: 'supplied: passages come with the questions; nothing is retrieved.' }),
  recall_depth: Type.Integer({ minimum: 1, maximum: 200, description: 'Passages retrieved for recall where k is smaller.' }),
  seed: Type.Integer({ minimum: 0, description: 'Of the demonstrations, the question sample and the bootstrap.' }),
})
export type Protocol = Static<typeof ProtocolSchema>

/** The paper's protocol: section 4.2 and the authors' evaluation. */
export const PAPER_PROTOCOL = { shots: 2, k_decoder: 10, context_tokens: 256, max_new_tokens: 25 } as const satisfies Partial<Protocol>
/** The paper's protocol with prompts truncated as in the published evaluation. */
export const EXACT_PROTOCOL = { ...PAPER_PROTOCOL, packing: 'text' } as const satisfies Partial<Protocol>
/** All choices left to the service's model. */
export const MODEL_PROTOCOL = {
  shots: null,
  k_decoder: null,
  context_tokens: null,
  max_new_tokens: null,
} as const satisfies Partial<Protocol>

/** The model's own protocol in some modes, each at every k. */
export function modelProtocol(modes: Protocol['modes'], ks: number[], retrieval: Protocol['retrieval'], recallDepth: number): Protocol {
  return { modes, ks, encoder_passages: ['others'], ...MODEL_PROTOCOL, retrieval, recall_depth: recallDepth, seed: 0 }
}

/** One way of answering all questions: a row and column of the results table. */
export interface Setting {
  /** The mode, or `cepe-all` for cepe with all passages in the encoder. */
  readonly method: string
  readonly k: number
  readonly request: Pick<AnswerRequest, 'mode' | 'encoder_passages'>
}

export function settingName({ method, k }: Pick<Setting, 'method' | 'k'>): string {
  return k === 0 ? method : `${method}, k = ${k}`
}

/** The settings of a protocol: modes in the given order, k ascending; closed-book once. */
export function settingsOf({ modes, ks: common, mode_ks: own, encoder_passages }: Protocol): Setting[] {
  return modes.flatMap((mode): Setting[] => {
    const ks = own?.[mode] ?? common
    if (mode === 'closed-book') return [{ method: mode, k: 0, request: { mode } }]
    if (mode !== 'cepe') return ks.map((k) => ({ method: mode, k, request: { mode } }))
    return encoder_passages.flatMap((variant) =>
      ks.map((k) => ({ method: variant === 'all' ? 'cepe-all' : 'cepe', k, request: { mode, encoder_passages: variant } })),
    )
  })
}

export function largestK(protocol: Protocol): number {
  return Math.max(0, ...settingsOf(protocol).map(({ k }) => k))
}

/** Passages to retrieve per question. */
export function retrievalDepth(protocol: Protocol): number {
  return Math.max(largestK(protocol), protocol.recall_depth)
}

/** The request for one question in one setting. @param passages at least k, best first @param demonstrations null: the service's own */
export function answerRequest(
  question: string,
  setting: Setting,
  { passages, demonstrations }: { readonly passages: readonly EvalPassage[]; readonly demonstrations: readonly Demonstration[] | null },
  protocol: Protocol,
): AnswerRequest {
  const { packing, k_decoder, context_tokens, max_new_tokens } = protocol
  return {
    question,
    ...setting.request,
    passages: passages
      .slice(0, setting.k)
      .map(({ id, title, text, score }) => ({ id, title, text, ...(score !== undefined && { score }) })),
    ...(demonstrations && { demonstrations: [...demonstrations] }),
    ...(packing && { packing }),
    ...(k_decoder !== null && ENCODING_MODES.some((mode) => mode === setting.request.mode) && { k_decoder }),
    ...(context_tokens !== null && { context_tokens }),
    ...(max_new_tokens !== null && { max_new_tokens }),
    // All answers are scored, whatever their confidence.
    min_confidence: 0,
    include_prompts: true,
  }
}

/** @throws options_invalid if demonstrations are required without a source */
export function checkDemonstrationSource(protocol: Protocol, poolSize: number): void {
  const { shots } = protocol
  if (shots === null || shots === 0 || poolSize > shots) return
  throw invalidOption(
    poolSize === 0
      ? `The protocol has ${shots} demonstrations per question: name the training file with --train, or choose --shots 0 (none) or --shots service (the service's own).`
      : `${shots} demonstrations are requested, but the training file has ${poolSize} questions: lower --shots.`,
  )
}
