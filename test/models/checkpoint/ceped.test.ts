import path from 'node:path'
import t from 'tap'
import { buildModel } from '../../../models/build.ts'
import { parseConfig } from '../../../models/checkpoint/config/parse.ts'
import { CEPE_CONFIG, weightsFor, writeFolder } from '../../fixtures/checkpoint-folder.ts'
import { f32Torch } from '../../fixtures/weights.ts'

/** What the published training code adds to config.json for CEPED-LLaMA-2-Chat: the fields of distillation, and the encoder's whole configuration. */
const DISTILLED = {
  kl_loss_cof: 2.0,
  kl_loss_mode: 'drop',
  lm_loss_cof: 1.0,
  train_encoder: false,
  train_batch_mode: 'none',
  offload_hidden_states: false,
  encoder_is_model: false,
  is_decoder: true,
  torch_dtype: 'bfloat16',
  transformers_version: '4.34.1',
  use_cache: true,
  pretraining_tp: 1,
  rope_scaling: null,
}
const ENCODER = {
  add_cross_attention: false,
  is_decoder: false,
  is_encoder: true,
  chunk_size_feed_forward: 0,
  id2label: { 0: 'LABEL_0', 1: 'LABEL_1' },
  problem_type: null,
  // One past the decoder's vocabulary.
  pad_token_id: 11,
}

/** Sixteen wide heads, which the generate graph needs; all layers attend. */
const SIZES = { hidden_size: 32, num_attention_heads: 2, num_cross_attn_layers: 2 }
const CEPE = { ...CEPE_CONFIG, ...SIZES }
const CEPED = { ...CEPE, ...DISTILLED, encoder_config: { ...CEPE.encoder_config, ...ENCODER } }

t.test('CEPED is CEPE in another training: the same graphs from sharded torch files', async (t) => {
  t.same(parseConfig(CEPED), parseConfig(CEPE))
  const weights = Object.entries(weightsFor(CEPED))
  const shards = [0, 1, 2, 3].map((shard) => ({
    file: `pytorch_model-0000${shard + 1}-of-00004.bin`,
    weights: Object.fromEntries(weights.filter((_, i) => i % 4 === shard)),
  }))
  const files = (config: object) => ({
    'config.json': config,
    ...Object.fromEntries(shards.map((shard) => [shard.file, f32Torch(shard.weights)])),
    'pytorch_model.bin.index.json': {
      metadata: { total_size: 0 },
      weight_map: Object.fromEntries(shards.flatMap((shard) => Object.keys(shard.weights).map((name) => [name, shard.file]))),
    },
  })
  const built = async (name: string, config: object) => {
    const warnings: string[] = []
    const folder = path.join(t.testdir({}), name)
    const manifest = await buildModel({
      checkpointDir: writeFolder(folder, files(config)),
      outDir: path.join(folder, 'built'),
      dtype: 'f32',
      onWarning: (warning) => warnings.push(warning),
    })
    return { files: manifest.files, warnings: warnings.filter((warning) => !warning.includes('tokenizer')) }
  }
  const ceped = await built('CEPED-LLaMA-2-Chat-7B', CEPED)
  t.same(ceped.warnings, [])
  t.same(ceped.files, (await built('CEPE-LLaMA-2-7B', CEPE)).files)
})

t.test('a decoder that is its own encoder is refused by name', (t) => {
  const { encoder_config: _, ...config } = { ...CEPED, encoder_is_model: true }
  t.throws(() => parseConfig(config), { code: 'unsupported', field: 'encoder_is_model' })
  t.end()
})
