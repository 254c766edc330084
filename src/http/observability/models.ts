import { modelId, type ContrieverManifest } from '../../../models/manifest.ts'
import { embedderOf, type Embedder } from '../../inference/contract.ts'
import type { Retriever } from '../../rag/retrieve.ts'

/** All loaded retrievers; the first is that of new tables. */
export function allEmbedders({ embedder, further }: Pick<Retriever, 'embedder' | 'further'>): readonly Embedder[] {
  return [embedder, ...(further?.values() ?? [])]
}

/** The retriever of questions: that of the searched table, or that of new tables if there is none. */
export async function servingEmbedder(retriever: Retriever): Promise<Embedder> {
  const table = await retriever.index.view().catch(() => undefined)
  return table === undefined ? retriever.embedder : embedderOf(retriever, table.model)
}

/** Description of a retriever. */
export function describeRetriever(manifest: ContrieverManifest): { id: string; dtype: string; dimension: number } {
  return { id: modelId(manifest), dtype: manifest.dtype, dimension: manifest.dims.hidden_size }
}

/** True if a name refers to the model, with or without its revision. */
export function isNamed(wanted: string, id: string): boolean {
  return wanted === id || wanted === id.split('@')[0]
}

/** Name of the loaded reader, or of the model that reranks, whatever its checkpoint. */
export const READER_ALIAS = 'cepe'

/** True if a request's `model` refers to the loaded reader. */
export function isReader(wanted: string, id: string): boolean {
  return wanted === READER_ALIAS || isNamed(wanted, id)
}
