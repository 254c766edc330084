import { type FileHandle, link, open, realpath, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { unsupported } from '../errors.ts'
import type { Graph, Weight, WeightLocation } from './graph.ts'
import { encodeModel } from './proto.ts'
import { ELEMS, fixedSize } from './shapes.ts'
import { present } from '../../base/at.ts'
import { messageOf } from '../../base/errors.ts'
import { sha256OfFile } from '../../base/files.ts'
import { writeFileDurably } from '../../base/durable.ts'
import { createHash } from 'node:crypto'

export interface WrittenFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** Writes a small file and flushes it to disk. @throws file system errors */
export async function writeSmallFile(dir: string, name: string, bytes: Uint8Array): Promise<WrittenFile> {
  await writeFileDurably(join(dir, name), bytes)
  return { name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Offsets of weights are multiples of this, so that a mapped file serves vector loads. */
const ALIGNMENT = 64

/** One file of external data of a model's graphs. Weights are read, written and hashed one at a time: memory is the largest one's. */
function dataFileOf(name: string, file: FileHandle) {
  const hash = createHash('sha256')
  let end = 0
  const append = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.length === 0) return
    await file.writeFile(bytes)
    hash.update(bytes)
    end += bytes.length
  }
  return {
    write: async (weight: Weight): Promise<WeightLocation> => {
      await append(new Uint8Array((ALIGNMENT - (end % ALIGNMENT)) % ALIGNMENT))
      const offset = end
      const bytes = await weight.read()
      await append(bytes)
      return { file: name, offset, bytes: bytes.length }
    },
    /** Flushes to disk. */
    finish: async (): Promise<WrittenFile> => {
      await file.sync()
      return { name, bytes: end, sha256: hash.digest('hex') }
    },
  }
}

/** Bytes of weights written so far and in total; `name` is the last written weight. */
export interface WriteProgress {
  readonly done: number
  readonly total: number
  readonly name: string
}

interface WriteOptions {
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
  await using file = await open(join(dir, dataFile), 'wx')
  const data = dataFileOf(dataFile, file)
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
  const files = [await data.finish()]
  const locationOf = (weight: Weight): WeightLocation => present(locations.get(weight.key))
  for (const graph of graphs)
    files.push(await writeSmallFile(dir, `${graph.name}.onnx`, encodeModel(graph.toProto(locationOf, producerVersion))))
  for (const path of linked) {
    files.push({ name: basename(path), bytes: (await stat(path)).size, sha256: await sha256OfFile(path, signal) })
  }
  return files
}
