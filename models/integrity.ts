import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { writeFileDurably } from '../base/durable.ts'
import { sha256OfFile } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { damaged, findFile } from './folder.ts'
import type { ModelManifest } from './manifest.ts'

/** File next to the manifest: verified files with size and modification time. */
const CACHE_FILE = '.verified.json'

const CacheSchema = Type.Record(Type.String(), Type.Object({ bytes: Type.Integer(), mtime_ms: Type.Number(), sha256: Type.String() }))
type Cache = Static<typeof CacheSchema>

/** Smaller files, such as graphs and tokenizers, are read at every start: a failing disk changes no modification time. */
const LARGE_BYTES = 32 * 2 ** 20

/**
 * Verifies every file of a built model against the manifest's sizes and SHA-256. A large file with the size and modification time of its
 * last check is not read again, so later starts take milliseconds.
 * @throws model_invalid naming the first file that is missing or differs
 */
export async function checkFiles(dir: string, manifest: ModelManifest): Promise<void> {
  const cached = await readFile(join(dir, CACHE_FILE), 'utf8').then(parseJson, () => undefined)
  const known: Cache = Value.Check(CacheSchema, cached) ? cached : {}
  const sound: Cache = {}
  let isNew = false
  for (const file of manifest.files) {
    const { name, bytes, sha256 } = file
    const { path, mtimeMs } = await findFile(dir, file)
    const checked = { bytes, mtime_ms: mtimeMs, sha256 }
    const isKnown = Value.Equal(known[name], checked)
    isNew ||= !isKnown
    if ((!isKnown || bytes < LARGE_BYTES) && (await sha256OfFile(path)) !== sha256)
      throw damaged(path, 'is damaged: its SHA-256 is not the one in the manifest')
    sound[name] = checked
  }
  if (!isNew) return
  // A cache that cannot be written (read-only folder) only costs time.
  await writeFileDurably(join(dir, CACHE_FILE), JSON.stringify(sound)).catch(() => undefined)
}
