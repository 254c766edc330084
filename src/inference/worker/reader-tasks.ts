import { at } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import type { CepeManifest } from '../../../models/manifest.ts'
import { continuationIds } from '../../text/continuation.ts'
import { cutContexts, planRead, type PromptLimits } from '../../text/plan.ts'
import { loadTokenizer } from '../../text/tokenizer.ts'
import { warnOfSlowDtype } from './cpu.ts'
import { createDocumentTask } from './document-task.ts'
import { encodeContexts, type EncodedContexts } from './encode-contexts.ts'
import { checkNumber } from './finite.ts'
import type { AnswerRead, ChoicesRead, GenerateRequest, ReplugRequest } from '../contract.ts'
import type { Log } from '../log.ts'
import { readCepeManifest } from '../model-folder.ts'
import { loadModelGraph, type ModelGraphOptions } from './prepack.ts'
import type { Output, ReaderChildOptions, Step, TaskHandlers } from '../protocol.ts'
import { contextShares } from './shares.ts'
import { floats, int64, integers, type Graph } from './session.ts'
import { createStateCache } from './state-cache.ts'
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
 * Loads a reader in this process: encoder and generate graphs at once, the step graph when it is first needed.
 * Encoder states never leave the process, and texts become tokens here.
 * @throws model_invalid, provider_unavailable
 */
export async function createReaderTasks(options: ReaderChildOptions, log: Log): Promise<TaskHandlers> {
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
    cache: createStateCache(options.stateCacheBytes),
    batchTokens: options.batchTokens,
  }
  const generateGraph = await loadModelGraph(manifest.graphs.generate, graphOptions)
  const replugTokens = Math.floor(options.replugBytes / pastBytes(manifest))
  const limits: PromptLimits = { window: manifest.dims.window, hasEncoder: manifest.dims.cross_attention_layers > 0, replugTokens }
  let stepGraph: Promise<Graph> | undefined
  const stepModel = async (): Promise<StepModel> => {
    stepGraph ??= loadModelGraph(manifest.graphs.step, graphOptions)
    const batchTokens = Math.max(1, Math.floor(replugTokens / REPLUG_BATCHES))
    return { graph: await stepGraph, dims: manifest.dims, prefillTokens: options.prefillTokens, batchTokens }
  }

  const generate = async (request: GenerateRequest, step: Step): Promise<Output<'generate'>> => {
    const { result: encoded, ms: encode } = await timed(() => encodeContexts(encoder, request, step))
    await step()
    const { result: decoded, ms: generate } = await timed(async () =>
      request.sampling || request.stepwise || (request.minNewTokens ?? 0) > 0
        ? { ...(await sample(await stepModel(), request, encoded.phi, step)), contextShares: [] }
        : greedy(generateGraph, request, encoded),
    )
    return { ...decoded, contextTokenCounts: encoded.tokenCounts, timingsMs: { encode, generate } }
  }

  const mixed = async (request: ReplugRequest, step: Step): Promise<Output<'replug'>> => {
    const { result: decoded, ms } = await timed(async () => replug(await stepModel(), request, step))
    return { ...decoded, contextShares: [], contextTokenCounts: [], timingsMs: { encode: 0, generate: ms } }
  }

  const wrapOf = ({ chatTemplate = 'none' }: Pick<AnswerRead, 'chatTemplate'>) => ({ wrap: tokenizer.chatWrap(chatTemplate) })

  const answer = async (read: AnswerRead, step: Step): Promise<Output<'answer'>> => {
    const { result: plan, ms } = await timed(() => planRead({ ...read, ...wrapOf(read) }, limits, promptTokenizer, step))
    const { contexts, contextIds, prompts, contextOf, inDecoder } = plan
    const { contextTokens, maxNewTokens, sampling } = read
    const decoded =
      read.mode === 'replug'
        ? await mixed({ prompts, temperature: read.replugTemperature, stopIds, maxNewTokens }, step)
        : await generate(
            {
              promptIds: at(prompts, 0).ids,
              contexts,
              ...(contextIds && { contextIds }),
              contextTokens,
              stopIds,
              maxNewTokens,
              ...(sampling && { sampling }),
            },
            step,
          )
    const last = decoded.tokenIds.at(-1)
    const stopped = last !== undefined && stopIds.includes(last)
    return {
      text: at(tokenizer.decode(stopped ? decoded.tokenIds.slice(0, -1) : decoded.tokenIds).split('\n'), 0).trim(),
      stopped,
      logprobs: decoded.logprobs,
      contextShares: decoded.contextShares,
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
    const { prompts, contexts, contextIds, contextOf, inDecoder } = await planRead({ ...read, ...wrapOf(read) }, limits, promptTokenizer, step)
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
    generate,
    replug: mixed,
    score: async (request, step) => {
      const { phi } = await encodeContexts(encoder, request, step)
      return request.streaming
        ? scoreStreaming(await stepModel(), request, request.streaming, rotaryOf(manifest), phi)
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

/** The whole greedy answer in one run of the generate graph. */
async function greedy(graph: Graph, { promptIds, stopIds, maxNewTokens }: GenerateRequest, { phi, tokenCounts }: EncodedContexts) {
  const outputs = await graph.run({
    input_ids: int64(promptIds, [1, promptIds.length]),
    phi,
    stop_ids: int64(stopIds, [stopIds.length]),
    max_new_tokens: int64([maxNewTokens], []),
  })
  return {
    tokenIds: integers(outputs, 'tokens'),
    logprobs: Array.from(floats(outputs, 'logprobs'), checkNumber),
    contextShares: contextShares(floats(outputs, 'attention'), tokenCounts),
  }
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly ms: number }> {
  const started = performance.now()
  const result = await work()
  return { result, ms: performance.now() - started }
}
