import { at, sum } from '../../../../base/at.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import { invalidModel } from '../../../../base/errors.ts'
import type { YieldPoint } from '../../protocol.ts'
import { bytesOf, floats, int64, type Feeds, type Graph, type Tensor } from '../runtime/session.ts'

/** The step graph: logits of new tokens after a past, cross-attending to phi. */
export interface StepModel {
  readonly graph: Graph
  readonly dims: CepeManifest['dims']
  /** Whether its rotary basis depends on the text's length. */
  readonly byLength: boolean
  /** Prompt tokens per run: the graph returns logits for all of them, so this bounds their memory. */
  readonly prefillTokens: number
  /** Padded tokens per batch of RePlug prompts: bounds what a run copies. */
  readonly batchTokens: number
  /** Keys and values `before.{layer}.{key|value}` of a prompt's first tokens, if any are kept. */
  readonly beginning?: (ids: readonly number[], phi: Tensor) => Promise<{ readonly tokens: number; readonly before: Feeds }>
}

export function isByLength({ rotary }: CepeManifest): boolean {
  return rotary ? 'by_length' in rotary : false
}

/** State of a text read so far. */
export interface Past {
  /** `past_key_values.{layer}.{key|value}` [rows, kv_heads, width, head_dim], in the graph's float type. */
  readonly tensors: Feeds
  /** Per row and position: 1 for a token, 0 for padding, which may be anywhere; [rows][width]. */
  readonly mask: readonly (readonly number[])[]
  /** Length of the complete text, if known; default: what has been read. */
  readonly textTokens?: number
}

function pastInput(name: string): string {
  return `past_key_values.${name}`
}

function pastOf({ dims }: StepModel, mask: Past['mask'], tensor: (name: string) => Tensor): Past {
  const names = Array.from({ length: dims.layers }, (_, layer) => [`${layer}.key`, `${layer}.value`]).flat()
  return { mask, tensors: Object.fromEntries(names.map((name) => [pastInput(name), tensor(name)])) }
}

/** One empty row, of a text with this many tokens if known. */
export function emptyPast(model: StepModel, textTokens?: number): Past {
  const past = pastOf(model, [[]], (name) =>
    model.graph.input(pastInput(name), new Uint8Array(0), [1, model.dims.kv_heads, 0, model.dims.head_dim]),
  )
  return textTokens === undefined ? past : { ...past, textTokens }
}

/** Reads the same number of new tokens on every row. @returns logits [rows, new tokens, vocab_size] */
export async function extend(model: StepModel, past: Past, rows: readonly (readonly number[])[], phi: Tensor) {
  const mask = past.mask.map((seen, row) => [...seen, ...at(rows, row).map(() => 1)])
  const outputs = await model.graph.run({
    input_ids: int64(rows.flat(), [rows.length, rows[0]?.length ?? 0]),
    attention_mask: int64(mask.flat(), [mask.length, mask[0]?.length ?? 0]),
    phi,
    ...(model.byLength && { text_tokens: int64(textTokens(mask, past), [mask.length]) }),
    ...past.tensors,
  })
  return { past: { ...past, ...pastOf(model, mask, (name) => output(outputs, `present.${name}`)) }, logits: floats(outputs, 'logits') }
}

/** Text length of each row: the known length, unless more has been read. */
function textTokens(mask: Past['mask'], { textTokens: told = 0 }: Past): number[] {
  return mask.map((row) => Math.max(told, sum(row)))
}

/** A prompt, and the number of tokens after it that count for its text's length. */
interface Prompt {
  readonly ids: readonly number[]
  readonly following?: number
}

/** Reads one prompt in chunks. @returns its past and the logits [vocab_size] after its last token */
export async function prefill(model: StepModel, { ids, following = 0 }: Prompt, phi: Tensor, yieldPoint: YieldPoint) {
  await yieldPoint()
  const { tokens = 0, before = {} } = (await model.beginning?.(ids, phi)) ?? {}
  let past = emptyPast(model, ids.length + following)
  if (tokens > 0) past = { ...past, ...pastOf(model, [new Array<number>(tokens).fill(1)], (name) => output(before, `before.${name}`)) }
  let logits = new Float32Array(0)
  for (let start = tokens; start < ids.length; start += model.prefillTokens) {
    await yieldPoint()
    const step = await extend(model, past, [ids.slice(start, start + model.prefillTokens)], phi)
    past = step.past
    logits = step.logits.slice(-model.dims.vocab_size)
  }
  return { past, logits }
}

/** Merges single-row pasts into one right-padded batch. */
export function mergePasts(model: StepModel, pasts: readonly Past[]): Past {
  const { kv_heads, head_dim } = model.dims
  const widths = pasts.map(({ mask }) => mask[0]?.length ?? 0)
  const width = Math.max(...widths)
  const mask = widths.map((tokens) => Array.from({ length: width }, (_, i) => (i < tokens ? 1 : 0)))
  return pastOf(model, mask, (name) => {
    // Copies bytes, since the float type is the graph's: a head's tokens are contiguous in every float type.
    const sources = pasts.map(({ tensors }) => bytesOf(output(tensors, pastInput(name))))
    const tokenBytes = (sources[0]?.length ?? 0) / (kv_heads * at(widths, 0))
    const merged = new Uint8Array(pasts.length * kv_heads * width * tokenBytes)
    for (const [row, source] of sources.entries()) {
      const headBytes = at(widths, row) * tokenBytes
      for (let head = 0; head < kv_heads; head++) {
        merged.set(source.subarray(head * headBytes, (head + 1) * headBytes), (row * kv_heads + head) * width * tokenBytes)
      }
    }
    return model.graph.input(pastInput(name), merged, [pasts.length, kv_heads, width, head_dim])
  })
}

/** Maps every tensor of a past and sets a new mask; `replace` gets the input's name. */
export function mapPast(model: StepModel, past: Past, mask: Past['mask'], replace: (name: string, tensor: Tensor) => Tensor): Past {
  return pastOf(model, mask, (name) => replace(pastInput(name), output(past.tensors, pastInput(name))))
}

/** Row `index` of logits [n, vocab_size], as a view. */
export function logitsRow({ dims }: StepModel, logits: Float32Array, index: number): Float32Array {
  return logits.subarray(index * dims.vocab_size, (index + 1) * dims.vocab_size)
}

function output(outputs: Feeds, name: string): Tensor {
  const tensor = outputs[name]
  if (!tensor) throw invalidModel(name, `The step graph has no "${name}"; build the model again.`)
  return tensor
}
