import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { CodedError } from '../base/errors.ts'
import { BUILDER_VERSION, MANIFEST_FILE, ManifestSchema, type Manifest } from './manifest.ts'
import { sha256OfFile } from './onnx/files.ts'

/** Beside the manifest: which files were found sound, in which size and of which time. */
const CACHE_FILE = '.verified.json'

const CacheSchema = Type.Record(Type.String(), Type.Object({ bytes: Type.Integer(), mtime_ms: Type.Number(), sha256: Type.String() }))
type Cache = Static<typeof CacheSchema>

function damaged(file: string, problem: string, cause?: unknown): CodedError {
  return new CodedError('model_invalid', `${file} ${problem}; build the model again (cepe build)`, { field: file, cause })
}

/**
 * The manifest of a built model. @throws model_invalid when the folder has none, or one that this version does not serve.
 */
export async function loadManifest(dir: string): Promise<Manifest> {
  const file = join(dir, MANIFEST_FILE)
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    throw damaged(file, 'is missing or no JSON', cause)
  }
  if (!Value.Check(ManifestSchema, value)) throw damaged(file, 'is no manifest of a built model')
  if (value.builder_version !== BUILDER_VERSION)
    throw damaged(file, `is of builder version ${value.builder_version}, this one serves ${BUILDER_VERSION}`)
  return value
}

async function readCache(dir: string): Promise<Cache> {
  const value: unknown = await readFile(join(dir, CACHE_FILE), 'utf8').then(JSON.parse, () => ({}))
  return Value.Check(CacheSchema, value) ? value : {}
}

/** A cache that cannot be written (read-only folder) only costs time. */
async function writeCache(dir: string, cache: Cache): Promise<void> {
  const staging = join(dir, `${CACHE_FILE}.${process.pid}.tmp`)
  await writeFile(staging, JSON.stringify(cache))
    .then(() => rename(staging, join(dir, CACHE_FILE)))
    .catch(() => undefined)
}

/**
 * Checks every file of a built model against the manifest's sizes and SHA-256. A file whose size and modification time
 * are those of its last check is not read again, so later starts take milliseconds.
 * @throws model_invalid naming the first file that is missing or differs.
 */
export async function checkFiles(dir: string, manifest: Manifest): Promise<void> {
  const known = await readCache(dir)
  const sound: Cache = {}
  let read = 0
  for (const { name, bytes, sha256 } of manifest.files) {
    const path = join(dir, name)
    const found = await stat(path).catch(() => undefined)
    if (!found?.isFile()) throw damaged(path, 'is missing')
    if (found.size !== bytes) throw damaged(path, `has ${found.size} bytes, the manifest says ${bytes}`)
    const entry = { bytes, mtime_ms: found.mtimeMs, sha256 }
    if (!Value.Equal(known[name], entry)) {
      read++
      if ((await sha256OfFile(path)) !== sha256) throw damaged(path, 'is damaged: its SHA-256 is not the one in the manifest')
    }
    sound[name] = entry
  }
  if (read > 0) await writeCache(dir, sound)
}
