/** The retrievers of a service: the one of new tables, and further ones whose tables can be searched. */
import { allModels, type EmbeddingModel, type Models } from '../../index/contract.ts'
import type { PassageIndex } from '../../index/open.ts'
import { CodedError, messageOf } from '../../base/errors.ts'
import { loadContrieverManifest } from '../../models/folder.ts'
import { modelId, modelOrigin, type ContrieverManifest } from '../../models/manifest.ts'
import { furtherRetrievers } from '../config.ts'
import { processCheck } from './health.ts'
import type { ReadinessCheck } from '../http/routes/health.ts'
import type { CountTokens } from '../http/routes/openai/routes.ts'
import type { Embedder, Embedders } from '../inference/contract.ts'
import type { Supervised } from '../inference/pool/models/process-options.ts'
import { loadTokenizer } from '../text/tokenizer.ts'
import type { Config } from '../settings.ts'

/** [CLS] and [SEP]. */
const FRAMING_TOKENS = 2

/** A built retriever. */
export interface RetrieverFolder {
  readonly dir: string
  readonly manifest: ContrieverManifest
  readonly model: EmbeddingModel
}

/** Built retrievers; the first is that of new tables. */
export interface RetrieverFolders extends Models {
  readonly first: RetrieverFolder
  readonly others: readonly RetrieverFolder[]
}

/** The configured retrievers, without duplicates. @throws model_invalid, config_invalid */
export async function configuredRetrievers(config: Config): Promise<RetrieverFolders> {
  const first = await retrieverIn(config.RETRIEVER_DIR)
  const others: RetrieverFolder[] = []
  for (const found of await furtherFolders(config))
    if ([first, ...others].every(({ model }) => model.id !== found.model.id)) others.push(found)
  return { first, others, model: first.model, furtherModels: others.map(({ model }) => model) }
}

/** The further retrievers, in order. @throws config_invalid */
export function furtherFolders(config: Config): Promise<RetrieverFolder[]> {
  const folders = furtherRetrievers(config).map((dir) =>
    retrieverIn(dir).catch((cause: unknown) => {
      throw new CodedError('config_invalid', `CEPE_FURTHER_RETRIEVERS: ${messageOf(cause)}, or take it out of the list.`, {
        field: 'CEPE_FURTHER_RETRIEVERS',
        cause,
      })
    }),
  )
  return Promise.all(folders)
}

async function retrieverIn(dir: string): Promise<RetrieverFolder> {
  const manifest = await loadContrieverManifest(dir)
  return { dir, manifest, model: embeddingModel(manifest) }
}

/** The index's view of a retriever. */
export function embeddingModel(manifest: ContrieverManifest): EmbeddingModel {
  return { id: modelId(manifest), dimension: manifest.dims.hidden_size, origin: modelOrigin(manifest) }
}

/** Starts the embedders of all folders, one after the other. */
export async function embeddersOf<One extends Embedder>(
  { first, others }: RetrieverFolders,
  make: (folder: RetrieverFolder) => Promise<One>,
): Promise<Required<Embedders<One>>> {
  const embedder = await make(first)
  const further = new Map<string, One>()
  for (const folder of others) further.set(folder.model.id, await make(folder))
  return { embedder, further }
}

/** All embedders. */
export function eachOf<One extends Embedder>({ embedder, further }: Required<Embedders<One>>): One[] {
  return [embedder, ...further.values()]
}

/**
 * countTokens: tokens of a text that a retriever reads, up to its window, framing tokens included. unreadTokens: tokens of a passage beyond
 * what retriever or reader reads.
 * @param contextTokens tokens of a passage that the reader keeps
 */
export async function tokenCounters({ first, others }: RetrieverFolders, contextTokens = Infinity) {
  const tokenizerOf = async ({ dir, manifest }: RetrieverFolder) => {
    const tokenizer = await loadTokenizer(dir, { bosId: null, eosIds: [] })
    return { tokenizer, most: manifest.dims.window - FRAMING_TOKENS }
  }
  const own = await tokenizerOf(first)
  const further = new Map<string, typeof own>()
  for (const folder of others) further.set(folder.model.id, await tokenizerOf(folder))
  const countTokens: CountTokens = (text, model) => {
    const { tokenizer, most } = further.get(model) ?? own
    return tokenizer.encode(text, { maxTokens: most }).length + FRAMING_TOKENS
  }
  const unreadTokens: CountTokens = (text, model) => {
    const { tokenizer, most } = further.get(model) ?? own
    return Math.max(0, tokenizer.encode(text).length - Math.min(most, contextTokens))
  }
  return { countTokens, unreadTokens }
}

/** Health of the embedders. Only the one that questions need affects readiness. */
export async function embedderChecks(
  index: PassageIndex,
  embedders: Required<Embedders<Embedder & Supervised>>,
): Promise<readonly ReadinessCheck[]> {
  const serving = await index.view().then(
    ({ model }) => model.id,
    () => index.model.id,
  )
  const checks = allModels(index).map(async ({ id }) => {
    const check = await processCheck('embedder', embedders.further.get(id) ?? embedders.embedder)
    return id === serving ? check : { ...check, name: `embedder of ${id}`, ok: true }
  })
  const found = await Promise.all(checks)
  return [...found.filter(({ name }) => name === 'embedder'), ...found.filter(({ name }) => name !== 'embedder')]
}
