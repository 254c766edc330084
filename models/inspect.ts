import { sizeText, sum } from '../base/at.ts'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { invalidModel, messageOf } from '../base/errors.ts'
import type { Checkpoint } from './checkpoint/checkpoint.ts'
import type { LlamaConfig, ModelConfig } from './checkpoint/config/config.ts'
import { openWeightFile } from './checkpoint/file.ts'
import { checkTensors } from './checkpoint/rename.ts'
import { loadManifest } from './folder.ts'
import { readGgufHeader } from './gguf/header.ts'
import type { MetadataValue } from './gguf/metadata.ts'
import { openGguf } from './gguf/open.ts'
import { type CepeManifest, type ContrieverManifest, modelId } from './manifest.ts'
import { EXTERNAL, type Proto, decodeModel } from './onnx/proto.ts'
import { ELEMS } from './onnx/shapes.ts'
import { openCheckpoint } from './open-checkpoint.ts'
import { defaultMode } from './protocol.ts'

/** A line for each tensor; caches of all layers as one line, since they differ in the number only. */
function valueLines(values: readonly Proto<'ValueInfoProto'>[]): string[] {
  const lines = values.map(({ name, type: { tensor_type: tensor } }) => {
    const shape = tensor.shape.dim.map(({ dim_param: param, dim_value: value }) => (param ? param : (value ?? 0)))
    const [type] = Object.entries(ELEMS).find(([, info]) => info.code === tensor.elem_type) ?? [`type ${tensor.elem_type}`]
    return `${name.replace(/\.\d+\./, '.{layer}.')} ${type} [${shape.join(', ')}]`
  })
  return [...new Set(lines)]
}

/** Including those of loop bodies and branches. */
function allNodes(graph: Proto<'GraphProto'>): Proto<'GraphProto'>['node'] {
  return graph.node.flatMap((node) => [node, ...node.attribute.flatMap(({ g }) => (g ? allNodes(g) : []))])
}

/** Bytes of each weight in external files, by its place: a weight used in two shapes counts once. */
function externalWeights({ initializer }: Proto<'GraphProto'>): ReadonlyMap<string, number> {
  const external = initializer.filter(({ data_location: location }) => location === EXTERNAL)
  return new Map(
    external.map(({ external_data: entries = [] }) => {
      const of = (key: string): string => entries.find((entry) => entry.key === key)?.value ?? ''
      return [`${of('location')}@${of('offset')}`, Number(of('length'))]
    }),
  )
}

function graphLines(file: string, graph: Proto<'GraphProto'>): string[] {
  const nodes = allNodes(graph)
  const operators = new Map<string, number>()
  for (const { op_type: op } of nodes) operators.set(op, (operators.get(op) ?? 0) + 1)
  const frequent = [...operators].sort(([a, n], [b, m]) => m - n || a.localeCompare(b))
  const weights = [...externalWeights(graph).values()]
  return [
    '',
    `${file}: ${nodes.length} nodes, ${weights.length} weights, ${sizeText(sum(weights))}`,
    ...valueLines(graph.input).map((line) => `  in   ${line}`),
    ...valueLines(graph.output).map((line) => `  out  ${line}`),
    `  operators: ${frequent.map(([op, count]) => `${op} ${count}`).join(', ')}`,
  ]
}

async function readGraph(dir: string, file: string): Promise<string[]> {
  try {
    return graphLines(file, decodeModel(await readFile(join(dir, file))).graph)
  } catch (cause) {
    throw invalidModel(file, `${join(dir, file)} cannot be read as an ONNX graph; build the model again (cepe build)`, cause)
  }
}

function embeddingLine({ pooling, normalised, query_prompt, passage_prompt = '' }: NonNullable<ContrieverManifest['embedding']>): string {
  return `embedding: ${pooling} pooling, ${normalised ? 'length 1' : 'not normalised'}, query prompt ${JSON.stringify(query_prompt)}, passage prompt ${JSON.stringify(passage_prompt)}`
}

function protocolLine(manifest: CepeManifest): string {
  const { k, k_decoder, demonstrations, context_tokens, max_new_tokens, instruction, focus } = manifest.qa_defaults
  const { bos_id } = manifest.tokens
  return [
    `protocol: mode ${defaultMode(manifest)}`,
    `k ${k}`,
    `k_decoder ${k_decoder}`,
    `demonstrations ${demonstrations}`,
    `context_tokens ${context_tokens}`,
    `max_new_tokens ${max_new_tokens}`,
    ...(focus ? ['focus'] : []),
    ...(instruction === undefined ? [] : [`instruction ${JSON.stringify(instruction)}`]),
    bos_id === null ? 'no BOS in front' : `BOS ${bos_id} in front`,
  ].join(', ')
}

/** Describes a built model for the terminal. @throws model_invalid naming the missing or unreadable file */
export async function inspectModel(dir: string): Promise<string> {
  const manifest = await loadManifest(dir)
  const graphs = Object.values(manifest.graphs).filter((file) => file !== null)
  const total = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0)
  const header = [
    `${modelId(manifest)}: ${manifest.architecture}, ${manifest.dtype}, ${manifest.parameters.toLocaleString('en')} parameters, ${sizeText(total)} in ${manifest.files.length} files`,
    `built ${manifest.built_at} by builder version ${manifest.builder_version}, opset ${manifest.opset}, from ${manifest.source.name} (${manifest.source.revision.slice(0, 12)})`,
    `dims: ${Object.entries(manifest.dims)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  ]
  if (manifest.architecture === 'cepe') header.push(protocolLine(manifest))
  else if (manifest.architecture === 'contriever' && manifest.embedding) header.push(embeddingLine(manifest.embedding))
  const sections = await Promise.all(graphs.map((file) => readGraph(dir, file)))
  const files = manifest.files.map(({ name, bytes, sha256 }) => `  ${name}  ${sizeText(bytes)}  sha256 ${sha256.slice(0, 16)}`)
  return [...header, ...sections.flat(), '', 'files:', ...files].join('\n')
}

function refused(thrown: unknown) {
  return { line: `cepe build cannot build it: ${messageOf(thrown)}`, unexpected: [] }
}

/** Whether a model can be built, with its weights' revision (a composed one's `base_revision`), or why not; and tensors no graph uses. */
function outcomeOf(checkpoint: Checkpoint): { readonly line: string; readonly unexpected: readonly string[] } {
  try {
    checkpoint.tokenizer?.()
    return { line: `cepe build can build it; revision ${checkpoint.revision}`, ...checkTensors(checkpoint) }
  } catch (thrown) {
    return refused(thrown)
  }
}

function stackLine(name: string, { layers, hiddenSize, heads, kvHeads, vocabSize, window }: LlamaConfig): string {
  return `${name}: ${layers} layers, width ${hiddenSize}, ${heads} heads (${kvHeads} key-value), vocabulary ${vocabSize}, window ${window}`
}

function configLines(config: ModelConfig): string[] {
  if (config.architecture !== 'cepe') return []
  const { decoder, encoder } = config
  if (encoder === null) return [stackLine('decoder', decoder), 'no encoder: all passages are read in the prompt']
  return [stackLine('decoder', decoder), stackLine('encoder', encoder), `cross-attention in the last ${config.crossAttentionLayers} layers`]
}

function weightsIn(tensors: readonly { readonly shape: readonly number[] }[]): string {
  const weights = tensors.reduce((sum, { shape }) => sum + shape.reduce((product, dim) => product * dim, 1), 0)
  return `${weights.toLocaleString('en')} weights in ${tensors.length} tensors`
}

/** A line for each type of tensor, in alphabetical order: how many, and their stored bytes. */
function typeLines<T extends { readonly bytes: number }>(tensors: readonly T[], typeOf: (tensor: T) => string): string[] {
  return [...new Set(tensors.map(typeOf))].sort().map((type) => {
    const those = tensors.filter((tensor) => typeOf(tensor) === type)
    const bytes = those.reduce((sum, tensor) => sum + tensor.bytes, 0)
    return `  ${type}: ${those.length} tensors, ${sizeText(bytes)}`
  })
}

/** Describes a checkpoint folder, Hugging Face's or composed, for the terminal. @throws those of openCheckpoint */
export async function inspectCheckpoint(dir: string): Promise<string> {
  const checkpoint = await openCheckpoint(dir)
  const { name, format, config } = checkpoint
  const tensors = [...checkpoint.tensors.values()]
  const { line, unexpected } = outcomeOf(checkpoint)
  return [
    `${name}: ${config.architecture} checkpoint (${format}), ${weightsIn(tensors)}`,
    line,
    ...configLines(config),
    ...typeLines(tensors, ({ dtype, converted }) => (converted ? `quantised, read as ${dtype}` : dtype)),
    ...(unexpected.length > 0 ? [`  not used: ${unexpected.join(', ')}`] : []),
  ].join('\n')
}

/** Longest metadata value that is shown whole. */
const LONGEST = 80

/** Formats as JSON, so that no control character reaches the terminal. */
function valueLine(value: MetadataValue): string {
  if (typeof value === 'object') return `list of ${value.length}`
  const text = JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} ... (${text.length} characters)` : text
}

/** Describes a GGUF file's tensors and metadata for the terminal. @throws checkpoint_invalid and unsupported if they cannot be read */
export async function inspectGguf(path: string): Promise<string> {
  const file = await openWeightFile(path)
  const { version, metadata, tensors } = await readGgufHeader(file)
  const { line } = await openGguf(path).then(outcomeOf, refused)
  return [
    `${basename(path)}: GGUF version ${version}, ${weightsIn(tensors)}, ${sizeText(file.size)}`,
    line,
    ...typeLines(tensors, ({ type }) => type),
    '',
    'metadata:',
    ...[...metadata].map(([key, value]) => `  ${JSON.stringify(key).slice(1, -1)}: ${valueLine(value)}`),
  ].join('\n')
}
