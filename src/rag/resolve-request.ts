import { invalidField } from '../../base/errors.ts'
import type { CepeManifest, QaDefaults } from '../../models/manifest.ts'
import { defaultMode, jointMode } from '../../models/protocol.ts'
import type { AnswerRead, Sampling } from '../inference/contract.ts'
import type { ChatTemplate } from '../text/chat-template.ts'
import { SHORT_ANSWER } from '../text/instruction.ts'
import type { Mode, PlannedMode } from '../text/plan.ts'
import type { Demonstration } from '../text/prompt.ts'
import type { PromptForm } from './calibration.ts'
import type { AnswerRequest, ChatQuestion } from './schema.ts'

/** A request with all defaults resolved from the model's own protocol; its passages are not retrieved yet. */
export interface ResolvedQuestion extends Omit<AnswerRead, 'passages'> {
  /** Maximum passages to answer from. */
  readonly k: number
  /** False without passages: closed-book, or k = 0. */
  readonly wantsPassages: boolean
}

/** Modes in which passages go through the encoder. */
export const ENCODING_MODES: readonly Mode[] = ['cepe', 'map-rerank']
/** Options that some modes alone read. */
const READ_IN: readonly [keyof AnswerRequest, readonly Mode[]][] = [
  ['replug_temperature', ['replug']],
  ['encoder_passages', ENCODING_MODES],
  ['k_decoder', ENCODING_MODES],
]

/**
 * Resolves a request's defaults from the model's own protocol. Its texts are composed, as passages are: other forms are other tokens.
 * @param own the service's worked examples
 * @param chatTemplate the service's default
 * @throws invalid_request naming the field that the model or the service does not support
 */
export function resolveRequest(
  request: ChatQuestion,
  manifest: CepeManifest,
  own: readonly Demonstration[],
  chatTemplate: ChatTemplate = 'none',
): ResolvedQuestion {
  const { qa_defaults: defaults, dims, graphs } = manifest
  // An explanation scores the answer given all passages, so it needs them in one reading.
  const mode = request.mode ?? (request.explain === undefined ? defaultMode(manifest) : jointMode(manifest))
  if (mode === 'cepe' && graphs.encoder === null)
    throw invalidField('mode', 'is cepe, but this model is a decoder without encoder: omit it, or use mode decoder-only')
  if (request.explain !== undefined) checkExplainable(request)
  if (mode === 'replug' || mode === 'experts') refuseMixed(request, mode)
  for (const [field, modes] of READ_IN) {
    const others = modes === ENCODING_MODES && graphs.encoder === null ? '' : `, or use mode ${modes.join(' or ')}`
    if (request[field] !== undefined && !modes.includes(mode)) throw invalidField(field, `is not read in ${mode} mode: omit it${others}`)
  }
  refuseUnused(request, mode)
  const contextTokens = request.context_tokens ?? defaults.context_tokens
  if (dims.encoder_window > 0 && contextTokens > dims.encoder_window)
    throw invalidField('context_tokens', `is ${contextTokens}, but this model's encoder takes ${dims.encoder_window} at most`)
  const { sampling, stop, turns = [], logprobs, grammar } = request
  const template = request.chat_template ?? chatTemplate
  const earlier = template === 'tokenizer' ? turns.map(({ role, content }) => ({ role, content: content.normalize() })) : []
  const k = request.k ?? (request.passages === undefined ? defaults.k : request.passages.length)
  return {
    question: request.question.trim().normalize(),
    mode,
    k: mode === 'closed-book' ? 0 : k,
    wantsPassages: mode !== 'closed-book' && (k > 0 || request.passages?.length === 0),
    kDecoder: request.k_decoder ?? defaults.k_decoder,
    encoderPassages: request.encoder_passages ?? 'others',
    demonstrations: chooseDemonstrations(request.demonstrations ?? defaultDemonstrations(template, own, defaults), own),
    contextTokens,
    chatTemplate: template,
    // The default speaks of passages.
    ...instructionOf(request, mode === 'closed-book' ? 'none' : template, defaults),
    packing: request.packing ?? 'passages',
    maxNewTokens: request.max_new_tokens ?? defaults.max_new_tokens,
    ...(request.max_new_tokens === undefined && { isDefaultLimit: true }),
    ...(stop && stop.length > 0 && { stop: stop.map((text) => text.normalize()) }),
    ...(earlier.length > 0 && { earlier }),
    ...(sampling && { sampling: samplingOf(sampling) }),
    ...(logprobs !== undefined && { topTokens: logprobs }),
    ...(grammar && { grammar }),
    ...focusOf(mode, defaults),
    replugTemperature: request.replug_temperature ?? 1,
    includePrompts: request.include_prompts ?? false,
    ...(request.attention === 'sentences' && { attendedSentences: true }),
  }
}

/** What shapes the prompts of a question, apart from its passages. */
export function promptForm({
  chatTemplate = 'none',
  instruction = '',
  mode,
  demonstrations,
  focus,
}: Omit<ResolvedQuestion, 'k'>): PromptForm {
  return { chat_template: chatTemplate, instruction, mode, demonstrations: demonstrations.length, ...(focus && { focus }) }
}

/** Parts of passages are read in this mode alone. */
function focusOf(mode: Mode, { focus }: QaDefaults): Pick<QaDefaults, 'focus'> {
  return mode === 'map-rerank' && focus ? { focus } : {}
}

/** How a request is answered that names nothing but the question. */
export function readerDefaults(manifest: CepeManifest, own: readonly Demonstration[], template?: ChatTemplate) {
  const { focus: _, ...defaults } = manifest.qa_defaults
  return { ...defaults, ...defaultPrompt(manifest, own, template) }
}

/** What shapes the prompt of such a request. */
export function defaultPrompt(manifest: CepeManifest, own: readonly Demonstration[], template: ChatTemplate = 'none'): PromptForm {
  const { qa_defaults: defaults } = manifest
  const { instruction = '' } = instructionOf({}, template, defaults)
  const [mode, demonstrations] = [defaultMode(manifest), defaultDemonstrations(template, own, defaults)]
  return { chat_template: template, instruction, mode, demonstrations, ...focusOf(mode, defaults) }
}

/** The protocol's number, limited to those that the service has; none in a chat template. */
function defaultDemonstrations(template: ChatTemplate, own: readonly Demonstration[], { demonstrations }: QaDefaults): number {
  return template === 'none' ? Math.min(own.length, demonstrations) : 0
}

/** The instruction after a question: the request's, or with a chat template the model's own, or the default one. */
export function instructionOf(
  { instruction }: Pick<AnswerRequest, 'instruction'>,
  template: ChatTemplate,
  defaults: QaDefaults,
): Pick<AnswerRead, 'instruction'> {
  const text = instruction ?? (template === 'none' ? '' : (defaults.instruction ?? SHORT_ANSWER))
  return text.trim() === '' ? {} : { instruction: text.trim().normalize() }
}

/** The mode that scores given answers: passages are read together. */
export function scoringMode(mode: Mode, manifest: CepeManifest): PlannedMode {
  return mode === 'map-rerank' || mode === 'experts' ? jointMode(manifest) : mode
}

/** These modes combine several prompts. @throws invalid_request for options of a single prompt */
function refuseMixed({ sampling, logprobs, grammar }: ChatQuestion, mode: Mode): void {
  const field = sampling ? 'sampling' : logprobs !== undefined ? 'logprobs' : grammar ? 'response_format' : undefined
  if (field !== undefined) throw invalidField(field, `is not available in ${mode} mode: omit it, or choose another mode`)
}

/** @throws invalid_request for passages that would not be read, and for options of a search that is not made */
function refuseUnused({ passages, filter = {}, method, collection, rerank, attention, k }: ChatQuestion, mode: Mode): void {
  const ofSearch = Object.keys(filter).length > 0 ? 'filter' : method && 'method'
  const unread = (passages?.length && 'passages') || (rerank && 'rerank') || (attention && 'attention') || (k && 'k') || ofSearch
  if (mode === 'closed-book' && unread)
    throw invalidField(unread, 'has no effect in closed-book mode, which reads no passages: omit it, or choose another mode')
  const unused = ofSearch ?? (collection && 'collection')
  if (passages && unused) throw invalidField(unused, 'selects from the index, and passages are given: omit one of them')
}

/** @throws invalid_request if dropping passages is meaningless, or the answer is sampled */
function checkExplainable({ mode, sampling }: AnswerRequest): void {
  const isJoint = mode === undefined || mode === 'cepe' || mode === 'decoder-only'
  if (sampling) throw invalidField('explain', 'is not available with sampling: omit one of them')
  if (!isJoint) throw invalidField('explain', `is not available in ${mode} mode: omit it, or use mode cepe or decoder-only`)
}

function chooseDemonstrations(
  wanted: NonNullable<AnswerRequest['demonstrations']>,
  own: readonly Demonstration[],
): readonly Demonstration[] {
  if (typeof wanted !== 'number')
    return wanted.map(({ question, answer, passage }) => ({
      question: question.normalize(),
      answer: answer.normalize(),
      ...(passage && { passage: { title: passage.title.normalize(), text: passage.text.normalize() } }),
    }))
  const remedy = 'send the examples themselves, or set CEPE_DEMONSTRATIONS'
  if (wanted > own.length) throw invalidField('demonstrations', `is ${wanted}, but the service has ${own.length}: ${remedy}`)
  return own.slice(0, wanted)
}

/** The sampling of a request, as the reader takes it. */
export function samplingOf({ temperature, top_p: topP, top_k: topK, seed }: NonNullable<AnswerRequest['sampling']>): Sampling {
  return { temperature, topP, ...(topK !== undefined && { topK }), seed }
}
