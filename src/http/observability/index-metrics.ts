import { Gauge, type Registry } from 'prom-client'
import type { CodedError } from '../../../base/errors.ts'
import { modelId } from '../../../models/manifest.ts'
import type { Retriever } from '../../rag/retrieve.ts'
import { allEmbedders, servingEmbedder } from './retrievers.ts'

/** Metrics of the table that is searched, as it is at a scrape. */
export function registerIndexMetrics(registry: Registry, retriever: Retriever, newerTable: () => CodedError | undefined): void {
  new Gauge({
    name: 'cepe_retriever_serves',
    help: 'By loaded retriever: 1 for the one that questions are embedded with, that of the table in service.',
    labelNames: ['model'],
    registers: [registry],
    async collect() {
      const serving = await servingEmbedder(retriever)
      for (const embedder of allEmbedders(retriever)) this.set({ model: modelId(embedder.manifest) }, embedder === serving ? 1 : 0)
    },
  })
  new Gauge({
    name: 'cepe_index_behind',
    help: '1 where the table that is searched was replaced by one that this process cannot search: GET /v1/info says why.',
    registers: [registry],
    collect() {
      this.set(newerTable() === undefined ? 0 : 1)
    },
  })
}
