import { Type, type Static } from 'typebox'
import { invalid, unsupported } from '../../../errors.ts'

export const Count = Type.Integer({ minimum: 1, maximum: 1e9 })
/** Far beyond any model: tensors are enumerated from the config before the weights are read. */
export const Layers = Type.Integer({ minimum: 1, maximum: 1024 })
/** Each position takes a row of the rotary tables. */
export const Window = Type.Integer({ minimum: 1, maximum: 2 ** 22 })
export const TokenId = Type.Integer({ minimum: 0, maximum: 1e9 })
export const Positive = Type.Number({ exclusiveMinimum: 0 })
export function orNull<T extends Parameters<typeof Type.Union>[0][number]>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

export const STACK_FIELDS = {
  vocab_size: Count,
  hidden_size: Count,
  intermediate_size: Count,
  num_hidden_layers: Layers,
  num_attention_heads: Count,
  max_position_embeddings: Window,
  pad_token_id: orNull(TokenId),
}

const StackSchema = Type.Object(STACK_FIELDS)
/** Sizes of a stack of layers, as every family names them. */
export function stackSizes(raw: Static<typeof StackSchema>) {
  return {
    vocabSize: raw.vocab_size,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    layers: raw.num_hidden_layers,
    heads: raw.num_attention_heads,
  }
}

/** Kinds of layers in `layer_types`. */
export const LayerTypes = Type.Array(Type.Enum(['full_attention', 'sliding_attention']))

/** Whether each layer is local: as `layer_types` lists them, or by its index. @throws unsupported for a list of another length */
export function localLayers(
  types: Static<typeof LayerTypes> | null | undefined,
  count: number,
  isLocal: (layer: number) => boolean,
): boolean[] {
  if (types && types.length !== count) only('layer_types', types.length, `an entry for each of the ${count} layers`)
  return types ? types.map((type) => type === 'sliding_attention') : Array.from({ length: count }, (_, layer) => isLocal(layer))
}

/** Prefix of the field names of a nested config in messages: "" or "encoder_config.". */
export type Prefix = '' | 'encoder_config.'

export function only(field: string, actual: unknown, supported: string): never {
  throw unsupported(`config.json: ${field} is ${JSON.stringify(actual)}; supported is ${supported}`, field)
}

/** Of every family. */
const UNQUANTISED = { quantization_config: [null, 'a checkpoint in f32, f16 or bf16: cepe build quantises itself'] } as const

type Plain = string | number | boolean | null

/**
 * Compares fields that change what a model computes with the one value that is computed here, which they have where absent or null.
 * @param plain by field its value, or that with its words in a message
 * @throws unsupported naming the first with another
 */
export function requirePlain(raw: object, plain: Readonly<Record<string, Plain | readonly [Plain, string]>>, prefix = ''): void {
  const given = new Map<string, unknown>(Object.entries(raw))
  for (const [field, wanted] of Object.entries({ ...UNQUANTISED, ...plain })) {
    const [supported, words] = Array.isArray(wanted) ? (wanted as [Plain, string]) : [wanted, JSON.stringify(wanted)]
    const actual = given.get(field) ?? supported
    if (actual !== supported) only(`${prefix}${field}`, actual, words)
  }
}

export function checkedId(field: string, id: number, vocabSize: number, file = 'config.json'): number {
  if (id >= vocabSize) throw invalid(`${file}: ${field} ${id} is outside the vocabulary of ${vocabSize}`, field)
  return id
}
