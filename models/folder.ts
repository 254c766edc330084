import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Value } from 'typebox/value'
import { type CodedError, invalidModel } from '../base/errors.ts'
import { readRegular } from '../base/exists.ts'
import { isIntact } from '../base/json.ts'
import {
  BUILDER_VERSION,
  CepeManifestSchema,
  ContrieverManifestSchema,
  MANIFEST_FILE,
  ModelManifestSchema,
  RerankerManifestSchema,
  type ModelManifest,
} from './manifest.ts'
import { recoverFolder } from './staging.ts'

/** Error for an unusable built model: `problem` continues the file's name. */
export function damaged(file: string, problem: string, cause?: unknown): CodedError {
  return invalidModel(file, `${file} ${problem}; build the model again (cepe build)`, cause)
}

/** Reads the manifest of a built model, which is restored if a build that replaced it was killed. @throws model_invalid if the folder has none, or one of an unsupported version */
export async function loadManifest(dir: string): Promise<ModelManifest> {
  const file = join(dir, MANIFEST_FILE)
  let value: unknown
  try {
    await recoverFolder(dir)
    value = JSON.parse(String(await readRegular(file)))
  } catch (cause) {
    throw damaged(file, 'is missing or not valid JSON', cause)
  }
  if (!Value.Check(ModelManifestSchema, value)) throw damaged(file, `is no manifest of a built model${mismatch(value)}`)
  if (value.builder_version !== BUILDER_VERSION)
    throw damaged(file, `is of builder version ${value.builder_version}, this one serves ${BUILDER_VERSION}`)
  if (!isIntact(value)) throw damaged(file, 'is damaged: its values are not those of its SHA-256')
  const { sha256: _, ...manifest } = value
  return manifest
}

const ROLES = { cepe: 'reader', contriever: 'retriever', reranker: 'reranker' } as const

/**
 * A loader of one kind of manifest. Requires that all files exist with their sizes, in every process; contents are verified once per start,
 * by `checkFiles`. It throws model_invalid naming the file.
 */
function loaderOf<Kind extends ModelManifest['architecture']>(kind: Kind) {
  const isOfKind = (manifest: ModelManifest): manifest is Extract<ModelManifest, { architecture: Kind }> => manifest.architecture === kind
  return async (dir: string) => {
    const manifest = await loadManifest(dir)
    if (!isOfKind(manifest)) throw invalidModel(dir, `${dir} has a ${ROLES[manifest.architecture]}: choose a folder with a ${ROLES[kind]}`)
    for (const file of manifest.files) await findFile(dir, file)
    return manifest
  }
}
export const loadCepeManifest = loaderOf('cepe')
export const loadContrieverManifest = loaderOf('contriever')
export const loadRerankerManifest = loaderOf('reranker')

/** Finds a file of the manifest. @throws model_invalid if it is missing or of another size */
export async function findFile(dir: string, { name, bytes }: ModelManifest['files'][number]) {
  const path = join(dir, name)
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw damaged(path, 'is missing')
  if (found.size !== bytes) throw damaged(path, `has ${found.size} bytes, the manifest says ${bytes}`)
  return { path, mtimeMs: found.mtimeMs }
}

/** The first schema violation of a manifest's declared kind. */
function mismatch(value: unknown): string {
  const { architecture: kind } = Object(value) as { architecture?: unknown }
  const schema = kind === 'contriever' ? ContrieverManifestSchema : kind === 'reranker' ? RerankerManifestSchema : CepeManifestSchema
  const [problem] = Value.Errors(schema, value)
  return problem ? ` (${problem.instancePath} ${problem.message})` : ''
}
