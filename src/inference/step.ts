import type { CepeManifest } from '../../models/manifest.ts'
import { AppError } from '../errors.ts'
import { float32, floats, int64, type Feeds, type Graph, type Tensor } from './session.ts'

/** Prompt tokens of one prefill run: bounds its logits to this many rows of the vocabulary. */
const PREFILL_TOKENS = 256

/** The step graph: logits of new tokens after a past, cross-attending to phi. */
export interface StepModel {
  readonly graph: Graph
  readonly dims: CepeManifest['dims']
}

/** Keys and values of the tokens seen so far: right-padded rows, `past_key_values.{layer}.{key|value}` [rows, kv_heads, width, head_dim]. */
export interface Past {
  readonly tensors: Feeds
  /** Valid tokens of each row. */
  readonly lengths: readonly number[]
  /** Padded length. */
  readonly width: number
}

export interface Step {
  readonly past: Past
  /** [rows, new tokens, vocab_size] */
  readonly logits: Float32Array
}

const pastNames = ({ dims }: StepModel): string[] =>
  Array.from({ length: dims.layers }, (_, layer) => [`${layer}.key`, `${layer}.value`]).flat()

/** One row that has seen nothing. */
const emptyPast = (model: StepModel): Past => {
  const { kv_heads, head_dim } = model.dims
  const empty = float32(new Float32Array(0), [1, kv_heads, 0, head_dim])
  return { tensors: Object.fromEntries(pastNames(model).map((name) => [`past_key_values.${name}`, empty])), lengths: [0], width: 0 }
}

/**
 * Runs the same number of new tokens on every row.
 * Rows of unequal pasts take one token at a time: the graph attends to the first tokens that a row's mask counts.
 */
export const extend = async (model: StepModel, past: Past, rows: readonly (readonly number[])[], phi: Tensor): Promise<Step> => {
  const added = rows[0]?.length ?? 0
  const width = past.width + added
  const lengths = past.lengths.map((length) => length + added)
  const outputs = await model.graph.run({
    input_ids: int64(rows.flat(), [rows.length, added]),
    attention_mask: int64(lengths.flatMap((length) => Array.from({ length: width }, (_, column) => (column < length ? 1 : 0))), [rows.length, width]),
    phi,
    ...past.tensors,
  })
  const tensors = Object.fromEntries(pastNames(model).map((name) => [`past_key_values.${name}`, output(outputs, `present.${name}`)]))
  return { past: { tensors, lengths, width }, logits: floats(outputs, 'logits') }
}

/**
 * Reads one prompt, a piece at a time.
 * @returns its past and the logits [vocab_size] after its last token
 */
export const prefill = async (model: StepModel, ids: readonly number[], phi: Tensor): Promise<Step> => {
  let past = emptyPast(model)
  let logits = new Float32Array(0)
  for (let start = 0; start < ids.length; start += PREFILL_TOKENS) {
    const step = await extend(model, past, [ids.slice(start, start + PREFILL_TOKENS)], phi)
    past = step.past
    logits = step.logits.slice(-model.dims.vocab_size)
  }
  return { past, logits }
}

/** Puts single-row pasts into one right-padded batch. */
export const mergePasts = (model: StepModel, pasts: readonly Past[]): Past => {
  const { kv_heads, head_dim } = model.dims
  const width = Math.max(0, ...pasts.map((past) => past.width))
  const tensors = pastNames(model).map((name): [string, Tensor] => {
    const key = `past_key_values.${name}`
    const merged = new Float32Array(pasts.length * kv_heads * width * head_dim)
    for (const [row, past] of pasts.entries()) {
      const source = floats(past.tensors, key)
      for (let head = 0; head < kv_heads; head++) {
        const size = past.width * head_dim
        merged.set(source.subarray(head * size, (head + 1) * size), (row * kv_heads + head) * width * head_dim)
      }
    }
    return [key, float32(merged, [pasts.length, kv_heads, width, head_dim])]
  })
  return { tensors: Object.fromEntries(tensors), lengths: pasts.flatMap((past) => past.lengths), width }
}

/** Row `index` of logits [n, vocab_size], as a view. */
export const logitsRow = ({ dims }: StepModel, logits: Float32Array, index: number): Float32Array =>
  logits.subarray(index * dims.vocab_size, (index + 1) * dims.vocab_size)

const output = (outputs: Feeds, name: string): Tensor => {
  const tensor = outputs[name]
  if (!tensor) throw new AppError('model_invalid', `The step graph gives no output "${name}"; build the model again.`, { field: name })
  return tensor
}
