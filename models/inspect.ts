import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, messageOf } from '../base/errors.ts'
import { loadManifest } from './folder.ts'
import { type CepeManifest, type ContrieverManifest, type ModelManifest, modelId } from './manifest.ts'
import { EXTERNAL, type GraphProto, type ModelProto, type ValueInfoProto, decodeModel } from './onnx/proto.ts'
import { ELEMS } from './onnx/shapes.ts'
import { defaultMode } from './protocol.ts'
import type { Checkpoint } from './checkpoint/checkpoint.ts'
import type { LlamaConfig, ModelConfig } from './checkpoint/config/config.ts'
import { openCheckpoint } from './open-checkpoint.ts'
import { checkTensors } from './checkpoint/rename.ts'
import { typeLines, weightsIn } from './checkpoint/tensor-lines.ts'

export interface TensorDescription {
  readonly name: string
  readonly elem: string
  readonly shape: readonly (number | string)[]
}

export interface GraphDescription {
  readonly file: string
  readonly inputs: readonly TensorDescription[]
  readonly outputs: readonly TensorDescription[]
  /** Nodes by operator, including loop bodies and branches; most frequent first. */
  readonly operators: ReadonlyMap<string, number>
  /** Weights of the graph and their bytes in external files; a weight used in two shapes counts once. */
  readonly weights: number
  readonly weightBytes: number
}

export interface ModelDescription {
  readonly id: string
  readonly manifest: ModelManifest
  readonly graphs: readonly GraphDescription[]
  readonly bytes: number
}

function elemName(code: number): string {
  return Object.entries(ELEMS).find(([, info]) => info.code === code)?.[0] ?? `type ${code}`
}

function describeTensor({ name, type }: ValueInfoProto): TensorDescription {
  return {
    name,
    elem: elemName(type.tensor_type.elem_type),
    shape: type.tensor_type.shape.dim.map(({ dim_param: param, dim_value: value }) => (param ? param : (value ?? 0))),
  }
}

function allNodes(graph: GraphProto): GraphProto['node'] {
  return graph.node.flatMap((node) => [node, ...node.attribute.flatMap(({ g }) => (g ? allNodes(g) : []))])
}

function describeGraph(file: string, { graph }: ModelProto): GraphDescription {
  const operators = new Map<string, number>()
  for (const { op_type: op } of allNodes(graph)) operators.set(op, (operators.get(op) ?? 0) + 1)
  const external = graph.initializer.filter(({ data_location: location }) => location === EXTERNAL)
  const locations = new Map(
    external.map(({ external_data: entries = [] }) => {
      const of = (key: string): string => entries.find((entry) => entry.key === key)?.value ?? ''
      return [`${of('location')}@${of('offset')}`, Number(of('length'))]
    }),
  )
  return {
    file,
    inputs: graph.input.map(describeTensor),
    outputs: graph.output.map(describeTensor),
    operators: new Map([...operators].sort(([a, n], [b, m]) => m - n || a.localeCompare(b))),
    weights: locations.size,
    weightBytes: [...locations.values()].reduce((sum, bytes) => sum + bytes, 0),
  }
}

/** Reads a built model's manifest and graphs. @throws model_invalid naming the missing or unreadable file */
export async function inspectModel(dir: string): Promise<ModelDescription> {
  const manifest = await loadManifest(dir)
  const files = Object.values(manifest.graphs).filter((file) => file !== null)
  const graphs = await Promise.all(
    files.map(async (file) => {
      try {
        return describeGraph(file, decodeModel(await readFile(join(dir, file))))
      } catch (cause) {
        throw new CodedError('model_invalid', `${join(dir, file)} cannot be read as an ONNX graph; build the model again (cepe build)`, {
          field: file,
          cause,
        })
      }
    }),
  )
  return { id: modelId(manifest), manifest, graphs, bytes: manifest.files.reduce((sum, { bytes }) => sum + bytes, 0) }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 0)} MB`
}

/** Caches of all layers as one line each: they differ in the number only. */
function tensorLines(tensors: readonly TensorDescription[]): string[] {
  const lines = tensors.map(({ name, elem, shape }) => `${name.replace(/\.\d+\./, '.{layer}.')} ${elem} [${shape.join(', ')}]`)
  return [...new Set(lines)]
}

function embeddingLine({ pooling, normalised, query_prompt, passage_prompt = '' }: NonNullable<ContrieverManifest['embedding']>): string {
  return `embedding: ${pooling} pooling, ${normalised ? 'length 1' : 'not normalised'}, query prompt ${JSON.stringify(query_prompt)}, passage prompt ${JSON.stringify(passage_prompt)}`
}

function protocolLine(manifest: CepeManifest): string {
  const { k, k_decoder, demonstrations, context_tokens, max_new_tokens, instruction } = manifest.qa_defaults
  const { bos_id } = manifest.tokens
  return [
    `protocol: mode ${defaultMode(manifest)}`,
    `k ${k}`,
    `k_decoder ${k_decoder}`,
    `demonstrations ${demonstrations}`,
    `context_tokens ${context_tokens}`,
    `max_new_tokens ${max_new_tokens}`,
    ...(instruction === undefined ? [] : [`instruction ${JSON.stringify(instruction)}`]),
    bos_id === null ? 'no BOS in front' : `BOS ${bos_id} in front`,
  ].join(', ')
}

export function formatDescription({ id, manifest, graphs, bytes }: ModelDescription): string {
  const header = [
    `${id}: ${manifest.architecture}, ${manifest.dtype}, ${manifest.parameters.toLocaleString('en')} parameters, ${megabytes(bytes)} in ${manifest.files.length} files`,
    `built ${manifest.built_at} by builder version ${manifest.builder_version}, opset ${manifest.opset}, from ${manifest.source.name} (${manifest.source.revision.slice(0, 12)})`,
    `dims: ${Object.entries(manifest.dims)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  ]
  if (manifest.architecture === 'cepe') header.push(protocolLine(manifest))
  else if (manifest.architecture === 'contriever' && manifest.embedding) header.push(embeddingLine(manifest.embedding))
  const sections = graphs.flatMap(({ file, inputs, outputs, operators, weights, weightBytes }) => [
    '',
    `${file}: ${[...operators.values()].reduce((a, b) => a + b, 0)} nodes, ${weights} weights, ${megabytes(weightBytes)}`,
    ...tensorLines(inputs).map((line) => `  in   ${line}`),
    ...tensorLines(outputs).map((line) => `  out  ${line}`),
    `  operators: ${[...operators].map(([op, count]) => `${op} ${count}`).join(', ')}`,
  ])
  const files = [
    '',
    'files:',
    ...manifest.files.map(({ name, bytes: size, sha256 }) => `  ${name}  ${megabytes(size)}  sha256 ${sha256.slice(0, 16)}`),
  ]
  return [...header, ...sections, ...files].join('\n')
}

/** Whether a model can be built, and the tensors that no graph uses. */
function outcomeOf(checkpoint: Checkpoint): { readonly line: string; readonly unexpected: readonly string[] } {
  try {
    return { line: `cepe build can build it; revision ${checkpoint.revision}`, ...checkTensors(checkpoint) }
  } catch (thrown) {
    return { line: `cepe build cannot build it: ${messageOf(thrown)}`, unexpected: [] }
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

/** Describes a checkpoint folder, Hugging Face's or composed, for the terminal. @throws those of openCheckpoint */
export async function inspectCheckpoint(dir: string): Promise<string> {
  const checkpoint = await openCheckpoint(dir)
  try {
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
  } finally {
    await checkpoint.close()
  }
}
