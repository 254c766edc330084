import type { CepeManifest } from '../../../../models/manifest.ts'
import { invalidField } from '../../../../base/errors.ts'
import type { EncoderInput, GenerateRequest, ReplugRequest, ScoreRequest, StreamingCache } from '../../contract.ts'

/** Validates requests against the model's limits before they are queued. All throw invalid_request naming the field. */

export function checkGenerate(request: GenerateRequest, manifest: CepeManifest): void {
  checkContexts(request, manifest)
  checkIds('promptIds', request.promptIds, manifest)
  checkDecoding(request, request.promptIds.length, manifest)
  const { sampling, minNewTokens = 0 } = request
  checkWhole('minNewTokens', minNewTokens, 0, request.maxNewTokens)
  if (!sampling) return
  if (!isPositive(sampling.temperature))
    throw invalidField('sampling.temperature', `is ${sampling.temperature}; it must be above 0 (leave sampling out for greedy decoding)`)
  if (!(sampling.topP > 0 && sampling.topP <= 1))
    throw invalidField('sampling.topP', `is ${sampling.topP}; it must be above 0 and at most 1`)
  if (!Number.isSafeInteger(sampling.seed)) throw invalidField('sampling.seed', `is ${sampling.seed}; it must be an integer`)
}

export function checkReplug(request: ReplugRequest, manifest: CepeManifest): void {
  if (request.prompts.length === 0) throw invalidField('prompts', 'is empty; give one prompt per passage')
  for (const [index, { ids, score }] of request.prompts.entries()) {
    checkIds(`prompts[${index}].ids`, ids, manifest)
    if (!Number.isFinite(score)) throw invalidField(`prompts[${index}].score`, `is ${score}; it must be a finite number`)
  }
  if (!isPositive(request.temperature)) throw invalidField('temperature', `is ${request.temperature}; it must be above 0`)
  checkDecoding(request, Math.max(...request.prompts.map(({ ids }) => ids.length)), manifest)
}

export function checkScore(request: ScoreRequest, manifest: CepeManifest): void {
  checkContexts(request, manifest)
  checkIds('promptIds', request.promptIds, manifest)
  for (const [index, ids] of request.continuations.entries()) {
    checkIds(`continuations[${index}]`, ids, manifest)
    if (!request.streaming) checkWindow(`continuations[${index}]`, request.promptIds.length, ids.length, manifest)
  }
  if (request.streaming) checkStreaming(request.streaming, request.continuations.length, manifest)
}

function checkStreaming({ sinks, recent, stride }: StreamingCache, continuations: number, { dims }: CepeManifest): void {
  checkWhole('streaming.sinks', sinks, 0)
  checkWhole('streaming.recent', recent, 1)
  checkWhole('streaming.stride', stride, 1)
  const tooLarge = `holds ${sinks} + ${recent} tokens and reads ${stride} at a time, more than the window of ${dims.window}`
  if (sinks + recent + stride > dims.window) throw invalidField('streaming', tooLarge)
  if (continuations !== 1)
    throw invalidField('continuations', `has ${continuations} entries; a streaming cache reads one text, so give one`)
}

function checkContexts({ contexts, contextTokens, contextIds }: EncoderInput, { graphs, dims }: CepeManifest): void {
  if (contexts.length + (contextIds?.length ?? 0) > 0 && graphs.encoder === null)
    throw invalidField('contexts', 'is given to a model without encoder; put the passages into the prompt')
  if (contextIds !== undefined && contexts.length > 0) throw invalidField('contextIds', 'cannot be combined with contexts; set one of them')
  checkWhole('contextTokens', contextTokens, 1)
  for (const [index, ids] of (contextIds ?? []).entries()) checkVocabulary(`contextIds[${index}]`, ids, dims.encoder_vocab_size)
}

function checkIds(field: string, ids: readonly number[], { dims }: CepeManifest): void {
  if (ids.length === 0) throw invalidField(field, 'is empty; it needs one token at least')
  checkVocabulary(field, ids, dims.vocab_size)
}

function checkVocabulary(field: string, ids: readonly number[], size: number): void {
  const wrong = ids.find((id) => !Number.isSafeInteger(id) || id < 0 || id >= size)
  if (wrong !== undefined) throw invalidField(field, `holds ${wrong}, which is no id of the vocabulary (0 to ${size - 1})`)
}

function checkDecoding({ maxNewTokens, stopIds }: GenerateRequest | ReplugRequest, promptTokens: number, manifest: CepeManifest): void {
  checkWhole('maxNewTokens', maxNewTokens, 1)
  if (stopIds.some((id) => !Number.isSafeInteger(id))) throw invalidField('stopIds', 'holds a value that is not an integer')
  checkWindow('promptIds', promptTokens, maxNewTokens, manifest)
}

function checkWindow(field: string, promptTokens: number, newTokens: number, { dims }: CepeManifest): void {
  const problem = `does not fit: ${promptTokens} prompt tokens and ${newTokens} new ones exceed the window of ${dims.window}; use fewer passages in the prompt`
  if (promptTokens + newTokens > dims.window) throw invalidField(field, problem)
}

function checkWhole(field: string, value: number, least: number, most = Infinity): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return
  throw invalidField(field, `is ${value}; it must be an integer from ${least}${most === Infinity ? '' : ` to ${most}`}`)
}

function isPositive(value: number): boolean {
  return value > 0 && Number.isFinite(value)
}
