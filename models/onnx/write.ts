import { link, realpath, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { unsupported } from '../errors.ts'
import { DataFile } from './data-file.ts'
import { sha256OfFile, writeNewFile, type WrittenFile } from './files.ts'
import type { Graph, Weight, WeightLocation } from './graph.ts'
import { encodeModel } from './proto.ts'
import { ELEMS, fixedSize } from './shapes.ts'
import { messageOf } from '../../base/errors.ts'

/** Bytes of weights written so far and in total; `name` is the last written weight. */
export interface WriteProgress {
  readonly done: number
  readonly total: number
  readonly name: string
}

export interface WriteOptions {
  readonly dir: string
  readonly dataFile: string
  readonly producerVersion: string
  /** Hard-link files that contain weights in the right form, instead of copying these weights. */
  readonly inPlace: boolean
  readonly onProgress: (progress: WriteProgress) => void
  readonly signal: AbortSignal | undefined
}

function sizeOf(weight: Weight): number {
  return fixedSize(weight.shape) * ELEMS[weight.elem].bytes
}

/**
 * Hard links, because ONNX Runtime rejects data files outside the model's folder, and symbolic links to them. Links the file itself if a
 * download cache uses a symbolic link.
 */
async function linkSource(dir: string, path: string): Promise<void> {
  try {
    await link(await realpath(path), join(dir, basename(path)))
  } catch (cause) {
    const problem = messageOf(cause)
    throw unsupported(`cannot hard-link ${path} into ${dir} (${problem}); build on the checkpoint's own file system, or not in place`, path)
  }
}

/**
 * Writes the graphs as {name}.onnx with one external data file for all of them: a weight shared by graphs is stored once. Weights are
 * streamed one at a time. Returns all files in `dir`, linked ones included.
 */
export async function writeGraphs(graphs: readonly Graph[], options: WriteOptions): Promise<readonly WrittenFile[]> {
  const { dir, dataFile, producerVersion, inPlace, onProgress, signal } = options
  const weights = [...new Map(graphs.flatMap((graph) => graph.weights()).map((weight) => [weight.key, weight])).values()]
  const total = weights.reduce((sum, weight) => sum + sizeOf(weight), 0)
  const locations = new Map<string, WeightLocation>()
  const linked = new Set<string>()
  let done = 0
  const data = await DataFile.create(dir, dataFile)
  const files: WrittenFile[] = []
  try {
    for (const weight of weights) {
      signal?.throwIfAborted()
      const { inFile } = weight
      if (inPlace && inFile) {
        if (!linked.has(inFile.path)) await linkSource(dir, inFile.path)
        linked.add(inFile.path)
        // Not copied, but checked for damage like all others.
        await weight.read()
        locations.set(weight.key, { file: basename(inFile.path), offset: inFile.offset, bytes: sizeOf(weight) })
      } else {
        locations.set(weight.key, await data.write(weight))
      }
      done += sizeOf(weight)
      onProgress({ done, total, name: weight.name })
    }
    files.push(await data.finish())
  } catch (error) {
    await data.abandon()
    throw error
  }
  const locationOf = (weight: Weight): WeightLocation => {
    const found = locations.get(weight.key)
    if (!found) throw new Error(`weight ${weight.name} was not written. This is a bug`)
    return found
  }
  for (const graph of graphs)
    files.push(await writeNewFile(dir, `${graph.name}.onnx`, encodeModel(graph.toProto(locationOf, producerVersion))))
  for (const path of linked) {
    files.push({ name: basename(path), bytes: (await stat(path)).size, sha256: await sha256OfFile(path, signal) })
  }
  return files
}
