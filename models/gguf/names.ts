import type { LlamaConfig } from '../checkpoint/config/config.ts'

const WHOLE: ReadonlyMap<string, string> = new Map([
  ['token_embd.weight', 'model.embed_tokens.weight'],
  ['output_norm.weight', 'model.norm.weight'],
  ['output.weight', 'lm_head.weight'],
])

const IN_LAYER: ReadonlyMap<string, string> = new Map([
  ['attn_norm', 'input_layernorm'],
  ['attn_q', 'self_attn.q_proj'],
  ['attn_k', 'self_attn.k_proj'],
  ['attn_v', 'self_attn.v_proj'],
  ['attn_q_norm', 'self_attn.q_norm'],
  ['attn_k_norm', 'self_attn.k_norm'],
  ['attn_output', 'self_attn.o_proj'],
  ['ffn_norm', 'post_attention_layernorm'],
  ['ffn_gate', 'mlp.gate_proj'],
  ['ffn_up', 'mlp.up_proj'],
  ['ffn_down', 'mlp.down_proj'],
])

/** Gemma's four norms per layer. */
const GEMMA: ReadonlyMap<string, string> = new Map([
  ['post_attention_norm', 'post_attention_layernorm'],
  ['ffn_norm', 'pre_feedforward_layernorm'],
  ['post_ffw_norm', 'post_feedforward_layernorm'],
])

/** The canonical name of a tensor (rename.ts); an unknown one keeps its name. */
export function fromGgufName(name: string, { postNorms }: Pick<LlamaConfig, 'postNorms'>): string {
  const [, layer, part = '', kind] = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name) ?? []
  const inLayer = (postNorms ? GEMMA.get(part) : undefined) ?? IN_LAYER.get(part)
  return WHOLE.get(name) ?? (inLayer === undefined ? name : `model.layers.${layer}.${inLayer}.${kind}`)
}
