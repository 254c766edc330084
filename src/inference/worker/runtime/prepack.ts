import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { Type, type Static } from 'typebox'
import Value from 'typebox/value'
import { syncPath, writeFileDurably } from '../../../../base/durable.ts'
import { messageOf } from '../../../../base/errors.ts'
import { exists } from '../../../../base/exists.ts'
import { parseJson } from '../../../../base/json.ts'
import { takeLock, whileHeld } from '../../../../base/locks/lock.ts'
import { modelId, type ModelManifest } from '../../../../models/manifest.ts'
import { removeStaleFiles } from '../../../../base/process-tag.ts'
import { fillFolder } from '../../../../models/staging.ts'
import type { Log } from '../../log.ts'
import { loadGraph, runtimeVersion, type Graph, type GraphOptions } from './session.ts'

const GRAPH_FILE = 'graph.onnx'
const WEIGHTS_FILE = 'weights.bin'
/** Smaller initializers stay in the graph file, where the runtime needs shapes and axes (onnxruntime_session_options_config_keys.h). */
const SAVED_WITH = {
  optimized_model_external_initializers_file_name: WEIGHTS_FILE,
  optimized_model_external_initializers_min_size_in_bytes: '1024',
  save_external_prepacked_constant_initializers: '1',
}
/** Sizes and CRC-32 of the other files of the folder. */
const SUMS_FILE = 'sums.json'
const SumsSchema = Type.Record(Type.String(), Type.Object({ bytes: Type.Integer(), crc32: Type.Integer() }))
const MISSING = 'missing'
/** Partial output of any graph, with the tag of its process. */
const PARTIAL = /\.partial-([^.]+)/
const LOCK = '.turns'
const LOCK_WAIT_MS = 600_000
const READ_BYTES = 2 ** 20

interface ModelGraphOptions extends GraphOptions {
  readonly modelDir: string
  readonly manifest: ModelManifest
  /** Folder of the saved graphs; null loads the graph as built. */
  readonly prepackDir: string | null
  readonly log: Log
}

/**
 * Loads one graph of a built model. With a `prepackDir`, on the CPU, the graph is saved there once with its weights in the kernels' layout
 * (`session.save_external_prepacked_constant_initializers`) and loaded from there: the weights are then memory-mapped and shared between
 * processes. The layout depends on the CPU, and so does the folder's name. Damaged files are created again; if saving fails, the graph is
 * loaded as built. f32 builds only: with ONNX Runtime 1.30, a saved int4 generate graph loads and then crashes.
 * @throws model_invalid, provider_unavailable
 */
export async function loadModelGraph(graphFile: string, options: ModelGraphOptions): Promise<Graph> {
  const { modelDir, prepackDir, provider, log } = options
  const built = path.join(modelDir, graphFile)
  if (prepackDir === null || provider.name !== 'cpu') return loadGraph(built, options)
  if (options.manifest.dtype !== 'f32') {
    const why = `that works for f32 builds alone, this one is ${options.manifest.dtype}`
    log('info', `Weights of ${graphFile} are not shared between processes: ${why}`)
    return loadGraph(built, options)
  }
  const folder = path.join(prepackDir, prepackKey(graphFile, options.manifest))
  try {
    await ensurePrepacked(built, folder, options)
    return await loadGraph(path.join(folder, GRAPH_FILE), options)
  } catch (error) {
    log('warn', `Weights of ${graphFile} are not shared between processes: ${messageOf(error)}`)
    return loadGraph(built, options)
  }
}

/** Folder name of a saved graph: model, graph, and a hash of everything that its contents depend on. */
function prepackKey(graphFile: string, manifest: ModelManifest): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([os.arch(), os.cpus()[0]?.model, runtimeVersion(), modelId(manifest), manifest.files]))
    .digest('hex')
  return `${path.parse(graphFile).name}-${hash.slice(0, 24)}`
}

/**
 * Ensures that an intact saved graph exists: saves it if it is missing or damaged. It is written to a temporary folder and renamed, so that
 * the folder is always complete; concurrent starts wait for the first.
 * @throws if it cannot be saved
 */
async function ensurePrepacked(built: string, folder: string, options: ModelGraphOptions): Promise<void> {
  if ((await problemOf(folder)) === undefined) return
  const parent = path.dirname(folder)
  const isIntact = await whileHeld(takeLock(path.join(parent, LOCK), LOCK_WAIT_MS), async () => {
    const problem = await problemOf(folder)
    if (problem === undefined) return true
    if (problem !== MISSING) options.log('warn', `The saved graph ${folder} is damaged (${problem}): it is made again.`)
    await rm(folder, { recursive: true, force: true })
    await removeStaleFiles(parent, (name) => PARTIAL.exec(name)?.[1])
    await fillFolder(folder, (aside) => save(built, aside, options))
    return true
  })
  if (isIntact === undefined) throw new Error(`other processes have been saving graphs in ${parent} for ${LOCK_WAIT_MS / 1000} s`)
}

/**
 * Saved unoptimised, since the optimiser (1.30) may write a Loop whose body shadows a constant of the outer graph, which fails to load;
 * optimised on loading, it shares as much memory.
 */
async function save(built: string, folder: string, options: GraphOptions): Promise<void> {
  const saving = await loadGraph(built, {
    ...options,
    session: { optimizedModelFilePath: path.join(folder, GRAPH_FILE), graphOptimizationLevel: 'disabled', extra: { session: SAVED_WITH } },
  })
  await saving.release()
  const sums: Static<typeof SumsSchema> = {}
  // A graph with few weights has no external data.
  for (const name of await readdir(folder)) {
    await syncPath(path.join(folder, name))
    sums[name] = await sumOf(path.join(folder, name))
  }
  await writeFileDurably(path.join(folder, SUMS_FILE), JSON.stringify(sums))
}

/** Verifies a saved graph by its checksums: the runtime accepts corrupted weights. */
async function problemOf(folder: string): Promise<string | undefined> {
  if (!(await exists(folder))) return MISSING
  const sums = parseJson(await readFile(path.join(folder, SUMS_FILE), 'utf8').catch(() => ''))
  if (!Value.Check(SumsSchema, sums)) return `no ${SUMS_FILE}`
  for (const [name, { bytes, crc32: sum }] of Object.entries(sums)) {
    const found = await sumOf(path.join(folder, name)).catch(messageOf)
    if (typeof found === 'string') return found
    if (found.bytes !== bytes) return `${name} has ${found.bytes} bytes in place of ${bytes}`
    if (found.crc32 !== sum) return `${name} is not as it was written`
  }
  return undefined
}

/** A third of a second per GiB in the page cache, where it is needed next anyway. */
async function sumOf(file: string): Promise<{ readonly bytes: number; readonly crc32: number }> {
  let [bytes, sum] = [0, 0]
  for await (const chunk of createReadStream(file, { highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    sum = crc32(chunk, sum)
  }
  return { bytes, crc32: sum }
}
