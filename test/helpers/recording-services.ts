import { modelId, type CepeManifest, type ContrieverManifest } from '../../models/manifest.ts'
import type { Embedder, GenerateRequest, GenerateResult, ReplugRequest } from '../../src/inference/contract.ts'
import { createAdmission } from '../../src/inference/pool/admission.ts'
import type { AnswerServices } from '../../src/rag/pipeline.ts'
import type { PassageSource } from '../../src/rag/retrieve.ts'
import { planningReader, type Oracle } from './planning-reader.ts'
import { wordTokenizer } from '../fixtures/word-tokenizer.ts'

const common = {
  builder_version: 1,
  built_at: '',
  dtype: 'f32',
  opset: 21,
  source: { name: 'fake', revision: 'r'.repeat(64) },
  parameters: 0,
} as const
export function readerManifest(window: number): CepeManifest {
  return {
    ...common,
    files: [],
    architecture: 'cepe',
    graphs: { encoder: '', generate: '', continue: '', step: '' },
    dims: {
      vocab_size: 100,
      hidden_size: 8,
      layers: 2,
      heads: 2,
      kv_heads: 2,
      head_dim: 4,
      window,
      cross_attention_layers: 2,
      encoder_vocab_size: 100,
      encoder_hidden_size: 8,
      encoder_layers: 1,
      encoder_window: 256,
    },
    tokens: { bos_id: 0, eos_ids: [1], pad_id: null },
    qa_defaults: { k: 6, k_decoder: 2, demonstrations: 0, context_tokens: 256, max_new_tokens: 5 },
  }
}
const embedderManifest: ContrieverManifest = {
  ...common,
  files: [],
  architecture: 'contriever',
  graphs: { embed: '' },
  dims: { vocab_size: 10, hidden_size: 2, layers: 1, heads: 1, window: 64 },
  tokens: { cls_id: 0, sep_id: 1, pad_id: 2 },
}

/** Services whose reader records what it is asked and says "yes". */
export function recordingServices({ window = 1000, found = 6 } = {}) {
  const tokenizer = wordTokenizer()
  const asked: { generate: GenerateRequest[]; replug: ReplugRequest[]; k: number[] } = { generate: [], replug: [], k: [] }
  const answer = (contexts: number): GenerateResult => ({
    tokenIds: [...tokenizer.encode(' yes'), 1],
    logprobs: [Math.log(0.5), Math.log(0.125)],
    contextShares: Array.from({ length: contexts }, () => 1 / contexts),
    contextTokenCounts: Array.from({ length: contexts }, () => 7),
    timingsMs: { queue: 0, encode: 1, generate: 2 },
  })
  const oracle: Oracle = {
    generate: (request) => {
      asked.generate.push(request)
      return Promise.resolve(answer((request.contextIds ?? request.contexts).length))
    },
    replug: (request) => {
      asked.replug.push(request)
      return Promise.resolve(answer(0))
    },
  }
  const embedder: Embedder = { manifest: embedderManifest, embed: (texts) => Promise.resolve(texts.map(() => Float32Array.of(1, 0))) }
  const hits = Array.from({ length: found }, (_, i) => ({ id: `p${i}`, title: `T${i}`, text: `text ${i}`, score: 10 - i, rank: i + 1 }))
  const index: Awaited<ReturnType<PassageSource['view']>> & PassageSource = {
    model: { id: modelId(embedderManifest) },
    view() {
      return Promise.resolve(this)
    },
    search: (_: Float32Array, { k }: { k: number }) => {
      asked.k.push(k)
      return Promise.resolve(hits.slice(0, k))
    },
    searchText: () => Promise.resolve([]),
    searchHybrid: () => Promise.resolve([]),
    version: () => Promise.resolve({ table: 'passages', version: 3, passages: found }),
  }
  const services: AnswerServices = {
    reader: planningReader(readerManifest(window), tokenizer, oracle),
    admission: createAdmission({ maxWaiting: 64, concurrency: 1 }),
    retriever: { embedder, index },
    demonstrations: [{ question: 'dq', answer: 'da', passage: { title: 'dt', text: 'dx' } }],
  }
  return { services, asked, tokenizer }
}
