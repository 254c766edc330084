import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { modelId, type Manifest } from '../../../models/manifest.ts'
import { messageOf } from '../../../base/errors.ts'
import type { Log } from '../log.ts'
import { loadGraph, runtimeVersion, type Graph, type GraphOptions } from './session.ts'

const GRAPH_FILE = 'graph.onnx'
const WEIGHTS_FILE = 'weights.bin'
/** Smaller initializers stay in the graph file, where the runtime wants shapes and axes to be. */
const EXTERNAL_FROM_BYTES = 1024
const PARTIAL = '.partial-'
/** A folder that is being written is younger; an older one is what a killed process left. */
const STALE_PARTIAL_MS = 3_600_000

export interface ModelGraphOptions extends GraphOptions {
  readonly modelDir: string
  readonly manifest: Manifest
  /** Folder of the saved graphs; null loads the graph as built. */
  readonly prepackDir: string | null
  readonly log: Log
}

/**
 * Loads one graph of a built model. With a `prepackDir`, on the CPU, the graph is saved there once with its weights in
 * the layout that the kernels want (`session.save_external_prepacked_constant_initializers`), and loaded from there:
 * the weights are then memory-mapped, and further processes share them instead of holding a copy each.
 * The layout depends on the CPU, so the folder's name does too. Where saving fails, the graph is loaded as built.
 * f32 builds only: with ONNX Runtime 1.30, a saved int4 generate graph loads and then crashes as it runs.
 * @throws model_invalid, provider_unavailable
 */
export async function loadModelGraph(graphFile: string, options: ModelGraphOptions): Promise<Graph> {
  const { modelDir, prepackDir, provider, log } = options
  const built = path.join(modelDir, graphFile)
  if (prepackDir === null || provider.name !== 'cpu') return loadGraph(built, options)
  if (options.manifest.dtype !== 'f32') {
    log(
      'info',
      `Weights of ${graphFile} are not shared between processes: that works for f32 builds alone, this one is ${options.manifest.dtype}`,
    )
    return loadGraph(built, options)
  }
  const folder = path.join(prepackDir, prepackKey(graphFile, options.manifest))
  try {
    await savePrepacked(built, folder, options)
    return await loadGraph(path.join(folder, GRAPH_FILE), options)
  } catch (error) {
    log('warn', `Weights of ${graphFile} are not shared between processes: ${messageOf(error)}`)
    return loadGraph(built, options)
  }
}

/** Folder name of a saved graph: model, graph, and a hash of everything that its contents depend on. */
function prepackKey(graphFile: string, manifest: Manifest): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([os.arch(), os.cpus()[0]?.model, runtimeVersion(), modelId(manifest), manifest.files]))
    .digest('hex')
  return `${path.parse(graphFile).name}-${hash.slice(0, 24)}`
}

/**
 * Saves a graph aside and renames it, so that a folder of that name is always whole. It is saved unoptimised, since the
 * optimiser (1.30) may write a Loop whose body names a constant as the graph around it does, which does not load again;
 * optimised on loading, it shares as much.
 */
async function savePrepacked(built: string, folder: string, options: GraphOptions): Promise<void> {
  if (await exists(folder)) return
  await mkdir(path.dirname(folder), { recursive: true })
  await sweepPartials(path.dirname(folder))
  const aside = await mkdtemp(folder + PARTIAL)
  try {
    const saving = await loadGraph(built, {
      ...options,
      saveTo: path.join(aside, GRAPH_FILE),
      optimise: false,
      config: {
        optimized_model_external_initializers_file_name: WEIGHTS_FILE,
        optimized_model_external_initializers_min_size_in_bytes: String(EXTERNAL_FROM_BYTES),
        save_external_prepacked_constant_initializers: '1',
      },
    })
    await saving.release()
    for (const name of [GRAPH_FILE, WEIGHTS_FILE]) await flush(path.join(aside, name))
    // Another process may have been faster; its folder is as good.
    await rename(aside, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error
    })
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

async function sweepPartials(prepackDir: string): Promise<void> {
  for (const name of await readdir(prepackDir)) {
    if (!name.includes(PARTIAL)) continue
    const partial = path.join(prepackDir, name)
    const found = await stat(partial).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > STALE_PARTIAL_MS) await rm(partial, { recursive: true, force: true })
  }
}

/** On disk before the rename says so: half a file of weights would be mapped as zeros. A graph of few weights has no file of them. */
async function flush(file: string): Promise<void> {
  if (!(await exists(file))) return
  const handle = await open(file, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined
}
