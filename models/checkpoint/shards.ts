import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from '#typebox'
import { invalid } from '../errors.ts'
import { parseAs, readJson } from './config/json.ts'

/** The files of the weights, and, with an index, the file of each tensor. */
export interface ShardPlan {
  readonly format: 'safetensors' | 'torch'
  /** File names, in the index's order of first mention. */
  readonly files: readonly string[]
  /** Tensor -> file, if the folder has an index. */
  readonly weightMap?: ReadonlyMap<string, string>
  /** Name of the index file, for messages. */
  readonly indexFile?: string
}

/** In order of preference: safetensors, single file first. */
const LAYOUTS = [
  { format: 'safetensors', single: 'model.safetensors', index: 'model.safetensors.index.json' },
  { format: 'torch', single: 'pytorch_model.bin', index: 'pytorch_model.bin.index.json' },
] as const

const IndexSchema = Type.Object({ weight_map: Type.Record(Type.String(), Type.String({ minLength: 1 })) })

/** Shards must be beside their index: names with a path are rejected. */
function checkShardName(shard: string, index: string): void {
  if (/[/\\\0]/.test(shard) || shard === '..' || shard === '.') {
    throw invalid(`${index}: shard ${JSON.stringify(shard)} is not a plain file name; shards must be in the folder of the index`, index)
  }
}

/**
 * Finds the weight files of a checkpoint folder. @throws checkpoint_invalid if there are none, or the index is broken or names a missing
 * file
 */
export async function findShards(dir: string): Promise<ShardPlan> {
  const present = new Set(await readdir(dir))
  for (const { format, single, index } of LAYOUTS) {
    if (present.has(single)) return { format, files: [single] }
    if (!present.has(index)) continue
    const { weight_map: map } = parseAs(IndexSchema, await readJson(join(dir, index)), index)
    const files = [...new Set(Object.values(map))]
    if (files.length === 0) throw invalid(`${index}: weight_map is empty`, index)
    for (const file of files) checkShardName(file, index)
    const missing = files.filter((file) => !present.has(file))
    if (missing.length > 0) throw invalid(`${index} names ${missing.join(', ')}, missing from ${dir}; download the missing shards`, index)
    return { format, files, weightMap: new Map(Object.entries(map)), indexFile: index }
  }
  throw invalid(`${dir} holds no weights; expected one of ${LAYOUTS.flatMap(({ single, index }) => [single, index]).join(', ')}`, dir)
}
