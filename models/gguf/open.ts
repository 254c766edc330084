import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { CodedError, orThrow } from '../../base/errors.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import type { LlamaConfig } from '../checkpoint/config/config.ts'
import { openWeightFile } from '../checkpoint/file.ts'
import { invalid, listed, unsupported } from '../errors.ts'
import { ggufConfig, turnsRows } from './config.ts'
import { readGgufHeader } from './header.ts'
import { numberIn } from './metadata.ts'
import { ggufRevision, readGgufTensor, storedTensor } from './tensors.ts'
import { ggufTokenizer } from './tokenizer.ts'

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
function fromGgufName(name: string, { postNorms }: Pick<LlamaConfig, 'postNorms'>): string {
  const [, layer, part = '', kind] = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name) ?? []
  const inLayer = (postNorms ? GEMMA.get(part) : undefined) ?? IN_LAYER.get(part)
  return WHOLE.get(name) ?? (inLayer === undefined ? name : `model.layers.${layer}.${inLayer}.${kind}`)
}

function splitError(name: string, parts: number, missing: readonly string[] = []): CodedError {
  const gone = missing.length > 0 ? `, of which ${listed(missing)} are missing in its folder: download them,` : ';'
  const message = `${name} is one part of a model in ${parts} files${gone} join them first (llama-gguf-split --merge FIRST-PART WHOLE.gguf) and give the whole file`
  return unsupported(message, name)
}

/** @throws unsupported for a file that is named as one part of several */
async function checkNamedWhole(path: string): Promise<void> {
  const name = basename(path)
  const [, stem = '', count = '1'] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/i.exec(name) ?? []
  if (Number(count) === 1) return
  const there = new Set(await readdir(dirname(path)).catch(() => []))
  const parts = Array.from({ length: Number(count) }, (_, i) => `${stem}-${String(i + 1).padStart(5, '0')}-of-${count}.gguf`)
  throw splitError(name, Number(count), there.has(name) ? parts.filter((part) => !there.has(part)) : [])
}

/** Adds the file's name to messages that name metadata and tensors. */
function inFile(name: string, thrown: unknown): unknown {
  if (!(thrown instanceof CodedError) || thrown.message.includes(name)) return thrown
  return new CodedError(thrown.code, `${name}: ${thrown.message}`, { field: thrown.field, cause: thrown })
}

/** Number of heads whose rows GGUF reorders; 0 for other tensors. */
function turnedHeads(name: string, { heads, kvHeads }: LlamaConfig): number {
  if (name.endsWith('.self_attn.q_proj.weight')) return heads
  return name.endsWith('.self_attn.k_proj.weight') ? kvHeads : 0
}

/**
 * Opens a GGUF file (version 2 or 3) as a checkpoint: quantised tensors are read as float32, one at a time, rows of a LLaMA's queries and
 * keys in Hugging Face's order; the tokenizer comes from the metadata.
 * @throws checkpoint_invalid for a damaged file; unsupported for another architecture, tensor type, or one part of several
 */
export async function openGguf(path: string): Promise<Checkpoint> {
  const name = basename(path)
  await checkNamedWhole(path)
  const file = await openWeightFile(path)
  try {
    const header = await readGgufHeader(file)
    const { metadata } = header
    const parts = numberIn(metadata, 'split.count') ?? 1
    if (parts > 1) throw splitError(name, parts)
    const config = ggufConfig(header)
    const stored = new Map(header.tensors.map((tensor) => [fromGgufName(tensor.name, config.decoder), tensor]))
    if (stored.size !== header.tensors.length) throw invalid('two tensors stand for the same weight; convert the model again', 'tensors')
    return {
      dir: path,
      name: name.replace(/\.gguf$/i, ''),
      format: 'gguf',
      config,
      tensors: new Map([...stored].map(([canonical, tensor]) => [canonical, storedTensor(tensor, canonical, path)])),
      revision: await ggufRevision(file, header),
      read: async (wanted) => {
        const tensor = stored.get(wanted)
        if (tensor === undefined) throw invalid(`${name} has no tensor ${wanted}`, wanted)
        return readGgufTensor(file, tensor, turnsRows(metadata) ? turnedHeads(wanted, config.decoder) : 0)
      },
      tokenizer: () =>
        orThrow(
          () => ggufTokenizer(metadata, path),
          (thrown) => inFile(name, thrown),
        ),
    }
  } catch (thrown) {
    throw inFile(name, thrown)
  }
}
