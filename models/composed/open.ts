import { basename, join } from 'node:path'
import { withAdapters } from '../adapter/merge.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { parseAs } from '../checkpoint/config/json.ts'
import { readQaDefaults } from '../checkpoint/config/parse.ts'
import { combinedRevision } from '../checkpoint/file.ts'
import { invalid } from '../errors.ts'
import { openGguf } from '../gguf/open.ts'
import { withCepe } from './cepe.ts'
import { ComposedSchema, type ComposedConfig } from './config.ts'
import { withSmoothing } from './smoothing.ts'

async function openBase(dir: string, { base_model: file, base_revision: revision }: ComposedConfig): Promise<Checkpoint> {
  if (!/\.gguf$/i.test(file)) throw invalid(`config.json: base_model is ${file}; it must be a GGUF file in the same folder`, 'base_model')
  const base = await openGguf(join(dir, file))
  if (revision === undefined || revision === base.revision) return base
  throw invalid(
    `${file} has the revision ${base.revision}, config.json requires ${revision}: the adapters belong to another base; put that base into ${dir}`,
    'base_revision',
  )
}

/**
 * Opens a folder whose config.json names a base (GGUF) and parts trained over it: LoRA adapters of the decoder and, for CEPE, the encoder's
 * adapters and the cross-attention; and factors that smooth its channels. Tensors are composed on read, one at a time.
 * @throws checkpoint_invalid if a part is missing, damaged or of another base; those of openGguf and openAdapter
 */
export async function openComposed(dir: string, configValue: unknown): Promise<Checkpoint> {
  const composed = parseAs(ComposedSchema, configValue, 'config.json')
  const { qaConfig, qaDefaults } = await readQaDefaults(dir)
  const base = await openBase(dir, composed)
  const adapters = (composed.adapters ?? []).map((name) => join(dir, name))
  const decoder = await withAdapters(base, adapters)
  const whole = composed.cepe === undefined ? decoder : await withCepe(decoder, dir, composed.cepe)
  const checkpoint = composed.smoothing === undefined ? whole : await withSmoothing(whole, join(dir, composed.smoothing))
  const configs = JSON.stringify([configValue, qaConfig ?? null])
  return {
    ...checkpoint,
    dir,
    name: basename(dir),
    qaDefaults: qaDefaults ?? checkpoint.qaDefaults,
    ...(composed.chat_template === false && { plainPrompts: true }),
    revision: combinedRevision(checkpoint.revision, configs),
  }
}
