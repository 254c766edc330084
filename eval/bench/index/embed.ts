import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { at } from '../../../base/at.ts'
import { buildModel } from '../../../models/build.ts'
import { modelId, type ContrieverManifest } from '../../../models/manifest.ts'
import { planCorpus } from '../../../index/ingest/plan/plan.ts'
import { runJob } from '../../../index/ingest/run.ts'
import { passageText } from '../../../index/contract.ts'
import { tokenBudgetBatches } from '../../../src/inference/batches.ts'
import { createEmbedder } from '../../../src/inference/pool/models/create-embedder.ts'
import { padRight } from '../../../src/inference/worker/runtime/pad.ts'
import { bulkEmbed } from '../../../src/jobs/bulk-embed.ts'
import { loadTokenizer } from '../../../src/text/tokenizer.ts'
import { syntheticItems, syntheticPassage } from '../../../test/fixtures/synthetic-corpus.ts'
import { openSession } from '../measure.ts'
import { writeSyntheticCheckpoint } from '../../../test/fixtures/synthetic-checkpoint.ts'

/** BERT-base's widths (Contriever) with fewer layers, of random weights. */
const SHAPE = {
  model_type: 'bert',
  architectures: ['Contriever'],
  hidden_size: 768,
  num_attention_heads: 12,
  intermediate_size: 3072,
  num_hidden_layers: 4,
  max_position_embeddings: 512,
  type_vocab_size: 2,
  layer_norm_eps: 1e-12,
  hidden_act: 'gelu',
  pad_token_id: 0,
}
const TOKENIZER = 'models/tiny/checkpoint/contriever'
/** Batch size of the service. */
const BATCH_TOKENS = 4096

export interface EmbedFigures {
  readonly bareRate: number
  readonly jobRate: number
  readonly gapP99: number
  readonly gapMax: number
}

/** Passages per second of the bare ONNX session on token-budget batches, and of a job through the embedder process. */
export async function embedFigures(folder: string, rows: number, threads: number): Promise<EmbedFigures> {
  const checkpoint = join(folder, 'contriever')
  const tokenizerJson = await readFile(join(TOKENIZER, 'tokenizer.json'), 'utf8')
  const { model } = JSON.parse(tokenizerJson) as { model: { vocab: Record<string, number> } }
  await writeSyntheticCheckpoint(checkpoint, { ...SHAPE, vocab_size: Object.keys(model.vocab).length })
  for (const file of ['tokenizer.json', 'tokenizer_config.json']) await copyFile(join(TOKENIZER, file), join(checkpoint, file))
  const built = join(folder, 'contriever-built')
  await buildModel({ checkpointDir: checkpoint, outDir: built, dtype: 'f32' })

  const embedder = await createEmbedder({ modelDir: built, threads })
  const jobDir = join(folder, 'embed-index')
  const jobFolder = join(jobDir, 'jobs', 'embed')
  await mkdir(jobFolder, { recursive: true })
  await planCorpus(syntheticItems(rows), { folder: jobFolder, maxRejectedShare: 0 })
  const embed = bulkEmbed(embedder)
  await embed([passageText(syntheticPassage(0))])
  const gaps = monitorEventLoopDelay({ resolution: 1 })
  gaps.enable()
  const started = performance.now()
  let written = started
  await runJob({
    dir: jobDir,
    table: 'embed',
    model: { id: modelId(embedder.manifest), dimension: SHAPE.hidden_size },
    embed,
    jobId: 'bench',
    folder: jobFolder,
    replace: true,
    signal: new AbortController().signal,
    onProgress: (phase) => {
      if (phase === 'verifying') written = performance.now()
    },
  })
  gaps.disable()
  await embedder.close()
  return {
    bareRate: await bareRate(built, embedder.manifest, rows, threads),
    jobRate: (rows * 1000) / (written - started),
    gapP99: gaps.percentile(99) / 1e6,
    gapMax: gaps.max / 1e6,
  }
}

/** Passages per second of the session alone. */
async function bareRate(built: string, { tokens, graphs }: ContrieverManifest, rows: number, threads: number): Promise<number> {
  const tokenizer = await loadTokenizer(built, { bosId: null, eosIds: [] })
  const texts = Array.from({ length: rows }, (_, i) => [
    tokens.cls_id ?? 0,
    ...tokenizer.encode(passageText(syntheticPassage(i))),
    tokens.sep_id ?? 0,
  ])
  const session = await openSession(join(built, graphs.embed), threads)
  const batches = tokenBudgetBatches(
    texts.map((ids) => ids.length),
    BATCH_TOKENS,
  ).map((batch) =>
    padRight(
      batch.map((row) => at(texts, row)),
      tokens.pad_id,
    ),
  )
  const bareStarted = performance.now()
  for (const batch of batches) await session.run(batch)
  const bareSeconds = (performance.now() - bareStarted) / 1000
  await session.release()
  return rows / bareSeconds
}
