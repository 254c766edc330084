import { basename } from 'node:path'
import { CodedError } from '../../base/errors.ts'
import type { Checkpoint, RawTensor } from '../checkpoint/checkpoint.ts'
import type { LlamaConfig } from '../checkpoint/config.ts'
import { openWeightFile } from '../checkpoint/file.ts'
import { toF32 } from '../checkpoint/weights.ts'
import { invalid, unsupported } from '../errors.ts'
import { ggufConfig, turnsRows } from './config.ts'
import { readGgufHeader } from './header.ts'
import { numberIn } from './metadata.ts'
import { fromGgufName } from './names.ts'
import { ggufRevision, readGgufTensor, storedTensor } from './tensors.ts'
import { ggufTokenizer } from './tokenizer.ts'

function splitError(name: string, parts: string): CodedError {
  return unsupported(
    `${name} is one part of a model in ${parts} files; join them first (llama-gguf-split --merge FIRST-PART WHOLE.gguf) and give the whole file`,
    name,
  )
}

function checkNamedWhole(name: string): void {
  const parts = /-\d{5}-of-(\d{5})\.gguf$/i.exec(name)?.[1]
  if (parts !== undefined && Number(parts) !== 1) throw splitError(name, String(Number(parts)))
}

/** Messages of inner files name metadata and tensors; this one names the file. */
function inFile(name: string, thrown: unknown): unknown {
  if (!(thrown instanceof CodedError) || thrown.message.includes(name)) return thrown
  return new CodedError(thrown.code, `${name}: ${thrown.message}`, { field: thrown.field, cause: thrown })
}

/** Heads whose rows GGUF keeps in another order; 0 for any other tensor. */
function turnedHeads(name: string, { heads, kvHeads }: LlamaConfig): number {
  if (name.endsWith('.self_attn.q_proj.weight')) return heads
  return name.endsWith('.self_attn.k_proj.weight') ? kvHeads : 0
}

/**
 * Opens a GGUF file (version 2 or 3) as a checkpoint: quantised tensors are read as float32, one at a time, the rows
 * of a LLaMA's queries and keys in Hugging Face's order; the tokenizer comes from the metadata.
 * @throws checkpoint_invalid for a damaged file; unsupported for another architecture, tensor type, or one part of several.
 */
export async function openGguf(path: string): Promise<Checkpoint> {
  const name = basename(path)
  checkNamedWhole(name)
  const file = await openWeightFile(path)
  try {
    const header = await readGgufHeader(file)
    const parts = numberIn(header.metadata, 'split.count') ?? 1
    if (parts > 1) throw splitError(name, String(parts))
    const { metadata } = header
    const config = ggufConfig(header)
    const stored = new Map(header.tensors.map((tensor) => [fromGgufName(tensor.name, config.decoder), tensor]))
    if (stored.size !== header.tensors.length) throw invalid('two tensors stand for the same weight; convert the model again', 'tensors')
    const tensors = new Map([...stored].map(([canonical, tensor]) => [canonical, storedTensor(tensor, canonical, path)]))
    const read = async (wanted: string): Promise<RawTensor> => {
      const [info, tensor] = [tensors.get(wanted), stored.get(wanted)]
      if (info === undefined || tensor === undefined) throw invalid(`${name} has no tensor ${wanted}`, wanted)
      return readGgufTensor(file, tensor, info, turnsRows(metadata) ? turnedHeads(wanted, config.decoder) : 0)
    }
    return {
      dir: path,
      name: name.replace(/\.gguf$/i, ''),
      format: 'gguf',
      config,
      tensors,
      revision: await ggufRevision(file, header),
      read,
      readF32: async (wanted) => toF32(wanted, await read(wanted)),
      tokenizer: () => ggufTokenizer(metadata, path),
      close: () => file.close(),
    }
  } catch (thrown) {
    await file.close()
    throw inFile(name, thrown)
  }
}
