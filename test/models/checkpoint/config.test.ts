import t from 'tap'
import { parseConfig } from '../../../models/checkpoint/config/parse.ts'
import { CEPE_CONFIG, CONTRIEVER_CONFIG, LLAMA_CONFIG } from '../../fixtures/checkpoint-folder.ts'

t.test('CEPE: decoder, encoder, cross-attention and tokens', (t) => {
  t.match(parseConfig(CEPE_CONFIG), {
    architecture: 'cepe',
    decoder: {
      vocabSize: 11,
      hiddenSize: 8,
      layers: 2,
      heads: 2,
      kvHeads: 1,
      headDim: 4,
      window: 32,
      ropeTheta: 10_000,
      ropeScaling: null,
      tieWordEmbeddings: false,
    },
    encoder: { vocabSize: 12, hiddenSize: 4, layers: 1, kvHeads: 2, headDim: 2 },
    crossAttentionLayers: 1,
    tokens: { bosId: 1, eosIds: [2], padId: null },
  })
  const { num_cross_attn_layers: _, ...everyLayer } = CEPE_CONFIG
  t.match(parseConfig(everyLayer), { crossAttentionLayers: 2 })
  t.end()
})

t.test('a plain LLaMA is a decoder without cross-attention', (t) => {
  t.match(parseConfig({ ...LLAMA_CONFIG, eos_token_id: [2, 5], tie_word_embeddings: true }), {
    architecture: 'cepe',
    encoder: null,
    crossAttentionLayers: 0,
    decoder: { tieWordEmbeddings: true },
    tokens: { eosIds: [2, 5] },
  })
  t.end()
})

t.test('Contriever, also saved as BertModel', (t) => {
  const expected = { architecture: 'contriever', vocabSize: 9, hiddenSize: 4, layers: 1, heads: 2, window: 16, padId: 0 }
  t.match(parseConfig(CONTRIEVER_CONFIG), expected)
  t.match(parseConfig({ ...CONTRIEVER_CONFIG, architectures: ['BertModel'] }), expected)
  t.end()
})

function ropeOf(fields: object) {
  const config = parseConfig({ ...LLAMA_CONFIG, ...fields })
  return config.architecture === 'cepe' ? config.decoder : undefined
}

t.test('published decoders of the family', (t) => {
  // TinyLlama, SmolLM2 and LLaMA 3.2 as their config.json have it; sizes made small.
  const smol = {
    ...LLAMA_CONFIG,
    rope_theta: 100_000,
    rope_interleaved: false,
    tie_word_embeddings: true,
    is_llama_config: true,
    pad_token_id: 2,
  }
  t.match(parseConfig(smol), { encoder: null, decoder: { ropeTheta: 100_000, tieWordEmbeddings: true } })
  const scaling = { factor: 32, high_freq_factor: 4, low_freq_factor: 1, original_max_position_embeddings: 8192, rope_type: 'llama3' }
  t.match(ropeOf({ rope_theta: 500_000, rope_scaling: scaling }), {
    ropeTheta: 500_000,
    ropeScaling: { type: 'llama3', factor: 32, originalWindow: 8192, lowTurns: 1, highTurns: 4 },
  })
  t.match(ropeOf({ rope_parameters: { ...scaling, rope_theta: 500_000 } }), { ropeTheta: 500_000, ropeScaling: { type: 'llama3' } })
  const mistral = { ...LLAMA_CONFIG, architectures: ['MistralForCausalLM'] }
  t.match(parseConfig({ ...mistral, sliding_window: 16 }), { encoder: null, crossAttentionLayers: 0, decoder: { window: 16 } })
  t.match(parseConfig({ ...mistral, sliding_window: null }), { decoder: { window: 32 } })
  t.match(parseConfig({ ...mistral, sliding_window: 4096 }), { decoder: { window: 32 } })
  t.end()
})

t.test('Qwen: biases, or norms of heads of any width; sliding windows bound the prompt', (t) => {
  const qwen2 = { ...LLAMA_CONFIG, architectures: ['Qwen2ForCausalLM'], sliding_window: 16 }
  t.match(parseConfig({ ...qwen2, use_sliding_window: false }), { decoder: { projectionBias: true, headNorms: false, window: 32 } })
  t.match(parseConfig({ ...qwen2, use_sliding_window: true }), { decoder: { window: 16 } })
  const qwen3 = { ...LLAMA_CONFIG, architectures: ['Qwen3ForCausalLM'] }
  t.match(parseConfig({ ...qwen3, head_dim: 32 }), { decoder: { projectionBias: false, headNorms: true, headDim: 32 } })
  t.match(parseConfig({ ...qwen3, head_dim: undefined }), { decoder: { headDim: 128 } })
  t.throws(() => parseConfig({ ...qwen3, attention_bias: true }), { code: 'unsupported', message: /attention_bias is true/ })
  t.throws(() => parseConfig({ ...qwen3, architectures: ['Qwen3MoeForCausalLM'] }), { code: 'unsupported', message: /Qwen3MoeForCausalLM/ })
  t.end()
})

t.test('Gemma: layers, bases and scales as either form of config.json states them', (t) => {
  const gemma = {
    ...LLAMA_CONFIG,
    hidden_act: undefined,
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: 64,
    sliding_window: 8,
  }
  const gemma2 = { ...gemma, architectures: ['Gemma2ForCausalLM'], attn_logit_softcapping: 50, final_logit_softcapping: 30 }
  t.match(parseConfig(gemma2), {
    decoder: { scoreScale: 1 / 8, scoreCap: 50, logitCap: 30, postNorms: true, headNorms: false, local: { window: 8, ropeTheta: 10_000 } },
  })
  const gemma3 = { ...gemma, architectures: ['Gemma3ForCausalLM'] }
  t.match(parseConfig({ ...gemma3, rope_theta: 5e5, rope_scaling: { type: 'linear', factor: 8 } }), {
    decoder: { headNorms: true, scoreCap: null, ropeTheta: 5e5, ropeScaling: { factor: 8 }, local: { ropeTheta: 10_000 } },
  })
  const both = { full_attention: { rope_type: 'default', rope_theta: 7e5 }, sliding_attention: { rope_theta: 2e4 } }
  t.match(parseConfig({ ...gemma3, rope_parameters: both }), { decoder: { ropeTheta: 7e5, ropeScaling: null, local: { ropeTheta: 2e4 } } })
  const types = Array.from({ length: LLAMA_CONFIG.num_hidden_layers }, () => 'full_attention')
  t.match(parseConfig({ ...gemma3, layer_types: types }), { decoder: { local: null } })
  const refused = (change: object, message: RegExp) =>
    t.throws(() => parseConfig({ ...gemma3, ...change }), { code: 'unsupported', message })
  refused({ use_bidirectional_attention: true }, /use_bidirectional_attention is true/)
  refused({ hidden_activation: 'relu' }, /hidden_act is "relu"; supported is "gelu_pytorch_tanh"/)
  refused({ layer_types: [...types, 'full_attention'] }, /layer_types is/)
  refused({ architectures: ['Gemma3ForConditionalGeneration'] }, /Gemma3ForConditionalGeneration/)
  t.end()
})

t.test('XLM-R: positions begin behind the padding; a cross-encoder has one label', (t) => {
  const xlm = { ...CONTRIEVER_CONFIG, architectures: ['XLMRobertaModel'], pad_token_id: 1, max_position_embeddings: 18 }
  t.match(parseConfig(xlm), { architecture: 'contriever', family: 'roberta', firstPosition: 2, window: 16 })
  const ranked = { ...CONTRIEVER_CONFIG, architectures: ['BertForSequenceClassification'] }
  t.match(parseConfig({ ...ranked, id2label: { 0: 'LABEL_0' } }), { architecture: 'reranker', family: 'bert', firstPosition: 0 })
  for (const labels of [{}, { id2label: { 0: 'no', 1: 'yes' } }, { num_labels: 3 }])
    t.throws(() => parseConfig({ ...ranked, ...labels }), { code: 'unsupported', message: /id2label is [23]; supported is 1 label/ })
  t.throws(() => parseConfig({ ...xlm, max_position_embeddings: 2 }), { code: 'checkpoint_invalid', message: /positions begin at 2/ })
  t.end()
})

t.test('ModernBERT: layers and bases as either form of config.json states them', (t) => {
  const modern = {
    architectures: ['ModernBertModel'],
    vocab_size: 50,
    hidden_size: 32,
    intermediate_size: 48,
    num_hidden_layers: 4,
    num_attention_heads: 2,
    max_position_embeddings: 64,
    norm_eps: 1e-5,
    hidden_activation: 'gelu',
    local_attention: 16,
  }
  t.match(parseConfig(modern), {
    family: 'modern',
    ropeTheta: 160_000,
    local: { window: 8, ropeTheta: 10_000, layers: [false, true, true, false] },
  })
  const published = { ...modern, global_attn_every_n_layers: 2, global_rope_theta: 5e5, local_rope_theta: 2e4 }
  t.match(parseConfig(published), { ropeTheta: 5e5, local: { ropeTheta: 2e4, layers: [false, true, false, true] } })
  const refused = (change: object, message: RegExp) =>
    t.throws(() => parseConfig({ ...modern, ...change }), { code: 'unsupported', message })
  refused({ mlp_bias: true }, /mlp_bias is true; supported is false/)
  refused({ hidden_activation: 'silu' }, /hidden_activation is "silu"/)
  refused({ layer_types: ['full_attention'] }, /layer_types is 1; supported is an entry for each of the 4 layers/)
  refused({ rope_parameters: { full_attention: { rope_type: 'yarn' } } }, /rope_parameters.full_attention.rope_type is "yarn"/)
  t.end()
})

t.test('rotary scaling in every spelling', (t) => {
  t.match(ropeOf({ rope_scaling: { type: 'linear', factor: 8 } }), { ropeScaling: { type: 'linear', factor: 8 } })
  t.match(ropeOf({ rope_scaling: { rope_type: 'default' } }), { ropeScaling: null })
  t.match(ropeOf({ rope_scaling: { rope_type: 'linear', factor: 2, rope_theta: 5e5 } }), { ropeTheta: 5e5 })
  t.match(ropeOf({ rope_scaling: { type: 'dynamic', factor: 2 } }), { ropeScaling: { type: 'dynamic', factor: 2, originalWindow: 32 } })
  t.match(
    ropeOf({ rope_theta: 5e5, rope_scaling: { type: 'yarn', factor: 16, original_max_position_embeddings: 4096, finetuned: true } }),
    {
      ropeTheta: 5e5,
      ropeScaling: { type: 'yarn', factor: 16, originalWindow: 4096, attentionFactor: 0.1 * Math.log(16) + 1, betaFast: 32, betaSlow: 1 },
    },
  )
  t.match(
    ropeOf({ rope_parameters: { rope_type: 'yarn', rope_theta: 1e6, factor: 2, attention_factor: 1.5, beta_fast: 30, beta_slow: 2 } }),
    {
      ropeTheta: 1e6,
      ropeScaling: { type: 'yarn', factor: 2, originalWindow: 32, attentionFactor: 1.5, betaFast: 30, betaSlow: 2 },
    },
  )
  t.end()
})

const REFUSED: readonly [string, object, string, RegExp][] = [
  [
    'another architecture',
    { ...LLAMA_CONFIG, architectures: ['GPT2LMHeadModel'] },
    'unsupported',
    /GPT2LMHeadModel.*supported are LlamaForCausalContextLM, LlamaForCausalLM, .*BertModel.*take a checkpoint of one of these/,
  ],
  ['no architecture', { hidden_size: 8 }, 'checkpoint_invalid', /architectures/],
  ['a missing field', { ...LLAMA_CONFIG, hidden_size: undefined }, 'checkpoint_invalid', /hidden_size/],
  ['a field of the wrong type', { ...LLAMA_CONFIG, vocab_size: '32000' }, 'checkpoint_invalid', /vocab_size must be integer/],
  [
    'a nested field of the wrong type',
    { ...CEPE_CONFIG, encoder_config: { ...CEPE_CONFIG.encoder_config, hidden_size: 0 } },
    'checkpoint_invalid',
    /encoder_config\.hidden_size/,
  ],
  [
    'query_and_context encoding',
    { ...CEPE_CONFIG, encode_mode: 'query_and_context' },
    'unsupported',
    /encode_mode is "query_and_context".*context_only/,
  ],
  [
    'two hidden states',
    { ...CEPE_CONFIG, num_cross_attn_hidden_states: 2 },
    'unsupported',
    /num_cross_attn_hidden_states is 2; supported is 1/,
  ],
  ['CEPE without cross-attention', { ...CEPE_CONFIG, do_cross_attention: false }, 'unsupported', /do_cross_attention is false/],
  [
    'more cross-attention layers than layers',
    { ...CEPE_CONFIG, num_cross_attn_layers: 3 },
    'checkpoint_invalid',
    /num_cross_attn_layers is 3, the decoder has 2/,
  ],
  ['contradicting encoder widths', { ...CEPE_CONFIG, encoder_hidden_size: 5 }, 'checkpoint_invalid', /encoder_hidden_size is 5.*4/],
  ['another activation', { ...LLAMA_CONFIG, hidden_act: 'gelu' }, 'unsupported', /hidden_act is "gelu"; supported is "silu"/],
  ['attention biases', { ...LLAMA_CONFIG, attention_bias: true }, 'unsupported', /attention_bias is true/],
  [
    'heads that are no multiple of kv heads',
    { ...LLAMA_CONFIG, num_attention_heads: 4, num_key_value_heads: 3 },
    'checkpoint_invalid',
    /no multiple/,
  ],
  ['an odd head size', { ...LLAMA_CONFIG, hidden_size: 6 }, 'checkpoint_invalid', /head_dim 3/],
  [
    'another rope scaling',
    { ...LLAMA_CONFIG, rope_scaling: { rope_type: 'longrope', factor: 8 } },
    'unsupported',
    /rope_scaling\.type is "longrope"; supported is "linear", "yarn", "llama3" or "dynamic"/,
  ],
  [
    'an encoder with a basis by length',
    { ...CEPE_CONFIG, encoder_config: { ...CEPE_CONFIG.encoder_config, rope_scaling: { type: 'dynamic', factor: 2 } } },
    'unsupported',
    /encoder_config\.rope_scaling\.type is "dynamic"; supported is "linear", "yarn" or "llama3"/,
  ],
  [
    'an incomplete llama3',
    { ...LLAMA_CONFIG, rope_scaling: { rope_type: 'llama3', factor: 8 } },
    'checkpoint_invalid',
    /low_freq_factor is missing/,
  ],
  [
    'a llama3 without a ramp',
    {
      ...LLAMA_CONFIG,
      rope_scaling: { rope_type: 'llama3', factor: 8, low_freq_factor: 4, high_freq_factor: 4, original_max_position_embeddings: 32 },
    },
    'checkpoint_invalid',
    /low_freq_factor \(4\) must be below high_freq_factor \(4\)/,
  ],
  [
    'weights quantised already',
    { ...LLAMA_CONFIG, quantization_config: { quant_method: 'gptq', bits: 4 } },
    'unsupported',
    /quantization_config is \{"quant_method":"gptq","bits":4\}; supported is a checkpoint in f32, f16 or bf16/,
  ],
  ['rotation of a part of each head', { ...LLAMA_CONFIG, partial_rotary_factor: 0.5 }, 'unsupported', /partial_rotary_factor is 0\.5/],
  [
    'the same among the parameters of the rotation',
    { ...LLAMA_CONFIG, rope_parameters: { rope_type: 'default', rope_theta: 10_000, partial_rotary_factor: 0.5 } },
    'unsupported',
    /rope_parameters\.partial_rotary_factor is 0\.5; supported is 1/,
  ],
  [
    'two bases of the rotation',
    { ...LLAMA_CONFIG, rope_theta: 10_000, rope_parameters: { rope_type: 'default', rope_theta: 500_000 } },
    'checkpoint_invalid',
    /rope_theta is 10000, rope_parameters\.rope_theta 500000; they must be equal/,
  ],
  ['capped scores outside Gemma', { ...LLAMA_CONFIG, attn_logit_softcapping: 50 }, 'unsupported', /attn_logit_softcapping is 50/],
  ['capped logits outside Gemma', { ...LLAMA_CONFIG, final_logit_softcapping: 30 }, 'unsupported', /final_logit_softcapping is 30/],
  ['a decoder that sees later tokens', { ...LLAMA_CONFIG, is_causal: false }, 'unsupported', /is_causal is false; supported is true/],
  ['pairs of neighbouring channels', { ...LLAMA_CONFIG, rope_interleaved: true }, 'unsupported', /rope_interleaved is true/],
  [
    'local layers of a LLaMA',
    { ...LLAMA_CONFIG, sliding_window: 8, layer_types: ['full_attention', 'sliding_attention'] },
    'unsupported',
    /layer_types is "sliding_attention"; supported is "full_attention"/,
  ],
  [
    'a BERT that is quantised already',
    { ...CONTRIEVER_CONFIG, quantization_config: { quant_method: 'fp8' } },
    'unsupported',
    /quantization_config is/,
  ],
  ['a BERT as decoder', { ...CONTRIEVER_CONFIG, is_decoder: true }, 'unsupported', /is_decoder is true; supported is false/],
  ['rope scaling without a factor', { ...LLAMA_CONFIG, rope_scaling: { type: 'linear' } }, 'checkpoint_invalid', /factor is missing/],
  ['a YaRN variant', { ...LLAMA_CONFIG, rope_scaling: { type: 'yarn', factor: 4, mscale: 0.7 } }, 'unsupported', /mscale/],
  ['an eos id outside the vocabulary', { ...LLAMA_CONFIG, eos_token_id: 11 }, 'checkpoint_invalid', /eos_token_id 11 is outside/],
  [
    'relative positions in BERT',
    { ...CONTRIEVER_CONFIG, position_embedding_type: 'relative_key' },
    'unsupported',
    /position_embedding_type is "relative_key"/,
  ],
  ['layers without end', { ...CONTRIEVER_CONFIG, num_hidden_layers: 1e9 }, 'checkpoint_invalid', /num_hidden_layers must be <= 1024/],
  [
    'a window without end',
    { ...LLAMA_CONFIG, max_position_embeddings: 1e9 },
    'checkpoint_invalid',
    /max_position_embeddings must be <= 4194304/,
  ],
  ['another BERT activation', { ...CONTRIEVER_CONFIG, hidden_act: 'gelu_new' }, 'unsupported', /hidden_act is "gelu_new"/],
]

for (const [what, config, code, message] of REFUSED) {
  t.test(`${what}: refused by name`, (t) => {
    t.throws(() => parseConfig(config), { name: 'CodedError', code, message })
    t.end()
  })
}
