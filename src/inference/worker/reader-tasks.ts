import { at } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import type { CepeManifest } from '../../../models/manifest.ts'
import { continuationIds } from '../../text/continuation.ts'
import { cutContexts, planRead, type PromptLimits } from '../../text/plan.ts'
import { loadTokenizer } from '../../text/tokenizer.ts'
import { counted } from './cache-counts.ts'
import { warnOfSlowDtype } from './cpu.ts'
import { createDocumentTask } from './document-task.ts'
import { encodeAhead, encodeContexts, type EncodedContexts } from './encode-contexts.ts'
import type { AnswerRead, ChoicesRead, GenerateRequest, ReplugRequest } from '../contract.ts'
import type { Log } from '../log.ts'
import { readCepeManifest } from '../model-folder.ts'
import { loadModelGraph, type ModelGraphOptions } from './prepack.ts'
import type { Output, ReaderChildOptions, Say, Step, TaskHandlers } from '../protocol.ts'
import { attendedSentences } from './attended.ts'
import { greedy, greedyInPieces } from './greedy.ts'
import type { Graph } from './session.ts'
import { createSpeaker, firstLine, type OnToken } from './speaker.ts'
import { createStateCache } from './state-cache.ts'
import { createStateCodec } from './state-codec.ts'
import { createStateStore } from './state-store.ts'
import type { StepModel } from './step.ts'
import { replug, sample, score } from './step-tasks.ts'
import { scoreStreaming } from './stream.ts'

/** RePlug decodes in so many batches at least where its memory is used to the full: a run copies the past of one. */
const REPLUG_BATCHES = 8

/** Bytes of keys and values of one token in every layer of the decoder. */
function pastBytes({ dims, dtype }: CepeManifest): number {
  return 2 * dims.layers * dims.kv_heads * dims.head_dim * (dtype.startsWith('f16') ? 2 : 4)
}

/**
 * Loads a reader in this process: encoder and generate graphs at once, the others when they are first needed.
 * Encoder states never leave the process, and texts become tokens here.
 * @param onLoading told when such a graph begins to be loaded, in the midst of a task, and when it is there
 * @throws model_invalid, provider_unavailable
 */
export async function createReaderTasks(
  options: ReaderChildOptions,
  log: Log,
  onLoading: (loading: boolean) => void,
): Promise<TaskHandlers> {
  const manifest = await readCepeManifest(options.modelDir)
  await warnOfSlowDtype(manifest.dtype, log)
  const { bos_id: bosId, eos_ids: eosIds } = manifest.tokens
  const tokenizer = await loadTokenizer(options.modelDir, { bosId, eosIds })
  const promptTokenizer = { ...tokenizer, bosId }
  const stopIds = tokenizer.stopIds('\n')
  const graphOptions: ModelGraphOptions = { ...options, manifest, log }
  const encoder = {
    graph: manifest.graphs.encoder === null ? null : await loadModelGraph(manifest.graphs.encoder, graphOptions),
    tokenizer,
    manifest,
    cache: counted(createStateCache(options.stateCacheBytes)),
    codec: await createStateCodec(options.stateDtype),
    store: options.stateDisk && (await createStateStore({ ...options.stateDisk, manifest, dtype: options.stateDtype, log })),
    batchTokens: options.batchTokens,
  }
  // Their runs grow with passages and prompt; the encoder's are batches of one size.
  const decoderOptions = { ...graphOptions, arena: false }
  const generateGraph = await loadModelGraph(manifest.graphs.generate, decoderOptions)
  const replugTokens = Math.floor(options.replugBytes / pastBytes(manifest))
  const limits: PromptLimits = { window: manifest.dims.window, hasEncoder: manifest.dims.cross_attention_layers > 0, replugTokens }
  const loadLater = (file: string): Promise<Graph> => {
    onLoading(true)
    return loadModelGraph(file, decoderOptions).finally(() => onLoading(false))
  }
  let continueGraph: Promise<Graph> | undefined
  let stepGraph: Promise<Graph> | undefined
  const stepModel = async (): Promise<StepModel> => {
    stepGraph ??= loadLater(manifest.graphs.step)
    const batchTokens = Math.max(1, Math.floor(replugTokens / REPLUG_BATCHES))
    return { graph: await stepGraph, dims: manifest.dims, prefillTokens: options.prefillTokens, batchTokens }
  }

  const decodeGreedily = async (request: GenerateRequest, encoded: EncodedContexts, step: Step, onToken?: OnToken) => {
    const { continue: file } = manifest.graphs
    // A model that was built without it answers whole.
    if (!onToken || file === undefined) return greedy(generateGraph, request, encoded)
    const rest = (): Promise<Graph> => (continueGraph ??= loadLater(file))
    return greedyInPieces({ generate: generateGraph, rest, dims: manifest.dims }, request, encoded, step, onToken)
  }

  const generate = async (request: GenerateRequest, step: Step, onToken?: OnToken): Promise<Output<'generate'>> => {
    const { result: encoded, ms: encode } = await timed(() => encodeContexts(encoder, request, step))
    await step()
    const { result: decoded, ms: generate } = await timed(async () =>
      request.sampling || request.stepwise || (request.minNewTokens ?? 0) > 0
        ? { ...(await sample(await stepModel(), request, encoded.phi, step, onToken)), contextShares: [] }
        : decodeGreedily(request, encoded, step, onToken),
    )
    return { ...decoded, contextTokenCounts: encoded.tokenCounts, timingsMs: { encode, generate } }
  }

  const mixed = async (request: ReplugRequest, step: Step, onToken?: OnToken): Promise<Output<'replug'>> => {
    const { result: decoded, ms } = await timed(async () => replug(await stepModel(), request, step, onToken))
    return { ...decoded, contextShares: [], contextTokenCounts: [], timingsMs: { encode: 0, generate: ms } }
  }

  const wrapOf = ({ chatTemplate = 'none' }: Pick<AnswerRead, 'chatTemplate'>) => ({ wrap: tokenizer.chatWrap(chatTemplate) })

  const answer = async (read: AnswerRead, step: Step, say?: Say): Promise<Output<'answer'>> => {
    const { result: plan, ms } = await timed(() => planRead({ ...read, ...wrapOf(read) }, limits, promptTokenizer, step))
    const { contexts, contextIds, prompts, contextOf, inDecoder } = plan
    const { contextTokens, maxNewTokens, sampling } = read
    const onToken = say && createSpeaker({ tokenizer, stopIds, say })
    const decoded =
      read.mode === 'replug'
        ? await mixed({ prompts, temperature: read.replugTemperature, stopIds, maxNewTokens }, step, onToken)
        : await generate(
            {
              promptIds: at(prompts, 0).ids,
              contexts,
              ...(contextIds && { contextIds }),
              contextTokens,
              stopIds,
              maxNewTokens,
              ...(sampling && { sampling }),
              // Contexts that were cut at their front are not where their passages' sentences are.
              wantsTokenShares: (read.attendedSentences ?? false) && contextIds === undefined,
            },
            step,
            onToken,
          )
    const last = decoded.tokenIds.at(-1)
    const stopped = last !== undefined && stopIds.includes(last)
    return {
      text: firstLine(tokenizer.decode(stopped ? decoded.tokenIds.slice(0, -1) : decoded.tokenIds)).trim(),
      stopped,
      logprobs: decoded.logprobs,
      contextShares: decoded.contextShares,
      ...(decoded.attentionFocus && { attentionFocus: decoded.attentionFocus }),
      ...(read.attendedSentences && { attended: await attendedSentences(read.passages, contextOf, decoded, tokenizer, step) }),
      contextTokenCounts: decoded.contextTokenCounts,
      contextOf,
      inDecoder,
      promptTokens: prompts.reduce((sum, { ids }) => sum + ids.length, 0),
      prompts: read.includePrompts ? prompts.map(({ text }) => text) : [],
      contexts: read.includePrompts ? cutContexts(plan, contextTokens, promptTokenizer) : [],
      timingsMs: { plan: ms, ...decoded.timingsMs },
    }
  }

  const choices = async (read: ChoicesRead, step: Step): Promise<Output<'choices'>> => {
    const { prompts, contexts, contextIds, contextOf, inDecoder } = await planRead(
      { ...read, ...wrapOf(read) },
      limits,
      promptTokenizer,
      step,
    )
    const { text, ids } = at(prompts, 0)
    const bare = bosId === null ? ids : ids.slice(1)
    const continuations: number[][] = []
    for (const choice of read.choices) {
      await step()
      continuations.push(continuationIds(text, bare, choice.trim(), promptTokenizer))
    }
    checkChoices(read.choices, continuations, ids.length, limits.window)
    const { phi, tokenCounts } = await encodeContexts(
      encoder,
      { contexts, ...(contextIds && { contextIds }), contextTokens: read.contextTokens },
      step,
    )
    const logprobs = await score(await stepModel(), { promptIds: ids, continuations }, phi, step)
    return { logprobs, contextOf, inDecoder, contextTokenCounts: tokenCounts }
  }

  return {
    answer,
    choices,
    document: createDocumentTask({ manifest, tokenizer, generate }),
    generate: (request, step) => generate(request, step),
    replug: (request, step) => mixed(request, step),
    encodeAhead: (input, step) => encodeAhead(encoder, input, step),
    score: async (request, step) => {
      const { phi } = await encodeContexts(encoder, request, step)
      return request.streaming
        ? scoreStreaming(await stepModel(), request, request.streaming, { frequencies: rotaryOf(manifest), phi, pause: step })
        : score(await stepModel(), request, phi, step)
    },
  }
}

/** @throws model_invalid where the model was built before its manifest told, unsupported where it has no such frequencies */
function rotaryOf({ rotary }: CepeManifest): readonly number[] {
  if (rotary) return rotary.frequencies
  throw rotary === undefined
    ? new CodedError(
        'model_invalid',
        'The manifest does not tell the rotary frequencies that a streaming cache needs: build the model again (cepe build).',
      )
    : new CodedError('unsupported', 'A streaming cache moves keys by whole positions, which this rotary embedding does not allow.')
}

/** @throws unprocessable naming the choice without tokens, or the lengths that do not fit the window */
function checkChoices(choices: readonly string[], continuations: readonly (readonly number[])[], prompt: number, window: number): void {
  const empty = continuations.findIndex((ids) => ids.length === 0)
  if (empty >= 0)
    throw new CodedError('unprocessable', `The choice ${JSON.stringify(at(choices, empty))} has no tokens.`, { field: 'choices' })
  const longest = Math.max(...continuations.map((ids) => ids.length))
  if (prompt + longest <= window) return
  throw new CodedError(
    'unprocessable',
    `The prompt (${prompt} tokens) and the longest choice (${longest}) exceed the model's window of ${window}: shorten the choices.`,
    { field: 'choices' },
  )
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly ms: number }> {
  const started = performance.now()
  const result = await work()
  return { result, ms: performance.now() - started }
}
