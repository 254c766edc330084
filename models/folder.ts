import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from '#typebox'
import { Value } from '#typebox/value'
import { CodedError } from '../base/errors.ts'
import {
  BUILDER_VERSION,
  CepeManifestSchema,
  ContrieverManifestSchema,
  MANIFEST_FILE,
  ModelManifestSchema,
  RerankerManifestSchema,
  type CepeManifest,
  type ContrieverManifest,
  type ModelManifest,
  type RerankerManifest,
} from './manifest.ts'

/** Error for an unusable built model: `problem` continues the file's name. */
export function damaged(file: string, problem: string, cause?: unknown): CodedError {
  return new CodedError('model_invalid', `${file} ${problem}; build the model again (cepe build)`, { field: file, cause })
}

/** Reads the manifest of a built model. @throws model_invalid if the folder has none, or one of an unsupported version */
export async function loadManifest(dir: string): Promise<ModelManifest> {
  const file = join(dir, MANIFEST_FILE)
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    throw damaged(file, 'is missing or not valid JSON', cause)
  }
  if (!Value.Check(ModelManifestSchema, value)) throw damaged(file, `is no manifest of a built model${mismatch(value)}`)
  if (value.builder_version !== BUILDER_VERSION)
    throw damaged(file, `is of builder version ${value.builder_version}, this one serves ${BUILDER_VERSION}`)
  return value
}

/** The manifest of a reader whose files exist with their sizes. @throws model_invalid naming the file */
export async function loadCepeManifest(dir: string): Promise<CepeManifest> {
  const manifest = await loadManifest(dir)
  if (manifest.architecture !== 'cepe') throw wrongKind(dir, manifest, 'reader')
  await checkSizes(dir, manifest)
  return manifest
}

/** The manifest of a retriever whose files exist with their sizes. @throws model_invalid naming the file */
export async function loadContrieverManifest(dir: string): Promise<ContrieverManifest> {
  const manifest = await loadManifest(dir)
  if (manifest.architecture !== 'contriever') throw wrongKind(dir, manifest, 'retriever')
  await checkSizes(dir, manifest)
  return manifest
}

/** The manifest of a cross-encoder whose files exist with their sizes. @throws model_invalid naming the file */
export async function loadRerankerManifest(dir: string): Promise<RerankerManifest> {
  const manifest = await loadManifest(dir)
  if (manifest.architecture !== 'reranker') throw wrongKind(dir, manifest, 'reranker')
  await checkSizes(dir, manifest)
  return manifest
}

/** Finds a file of the manifest. @throws model_invalid if it is missing or of another size */
export async function findFile(dir: string, { name, bytes }: ModelManifest['files'][number]) {
  const path = join(dir, name)
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw damaged(path, 'is missing')
  if (found.size !== bytes) throw damaged(path, `has ${found.size} bytes, the manifest says ${bytes}`)
  return { path, mtimeMs: found.mtimeMs }
}

/** Checked by every process; contents are verified once per start, by `checkFiles`. */
async function checkSizes(dir: string, { files }: ModelManifest): Promise<void> {
  for (const file of files) await findFile(dir, file)
}

function wrongKind(dir: string, { architecture }: ModelManifest, wanted: string): CodedError {
  return damaged(join(dir, MANIFEST_FILE), `is the manifest of a ${architecture} model where a ${wanted} is required`)
}

/** The first schema violation of a manifest's declared kind. */
function mismatch(value: unknown): string {
  const says = (architecture: string): boolean => Value.Check(Type.Object({ architecture: Type.Literal(architecture) }), value)
  const schema = says('contriever') ? ContrieverManifestSchema : says('reranker') ? RerankerManifestSchema : CepeManifestSchema
  const [problem] = Value.Errors(schema, value)
  return problem ? ` (${problem.instancePath} ${problem.message})` : ''
}
