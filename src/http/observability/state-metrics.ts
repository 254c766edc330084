import { Gauge, type Registry } from 'prom-client'
import type { CodedError } from '../../../base/errors.ts'
import type { Collections } from '../../../index/collections/contract.ts'
import { modelId } from '../../../models/manifest.ts'
import type { Retriever } from '../../rag/retrieve.ts'
import { allEmbedders, servingEmbedder } from './retrievers.ts'
import type { Keys } from '../../keys/keys.ts'

export interface MeasuredIndex {
  readonly retriever: Retriever
  readonly collections: Pick<Collections, 'opened'>
  /** Why the table that replaced the one in service is not searched here. */
  readonly newerTable: () => CodedError | undefined
}

/** Metrics of the default collection at the time of a scrape, and the number of open ones. Collections are no label: there may be many. */
export function registerIndexMetrics(registry: Registry, { retriever, collections, newerTable }: MeasuredIndex): void {
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
    name: 'cepe_collections_open',
    help: 'Collections that are held open, the default one among them.',
    registers: [registry],
    collect() {
      this.set(collections.opened)
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

/** Metrics of the keys at the time of a scrape. */
export function registerKeyMetrics(registry: Registry, keys: Pick<Keys, 'unreadable'>): void {
  new Gauge({
    name: 'cepe_keys_unreadable',
    help: 'Key files that cannot be read, 1 where their folder cannot: what was read of them last counts, and a revocation in them does not.',
    registers: [registry],
    collect() {
      this.set(keys.unreadable)
    },
  })
}
