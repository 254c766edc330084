import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import Value from 'typebox/value'
import {
  BUILDER_VERSION,
  CepeManifestSchema,
  ContrieverManifestSchema,
  MANIFEST_FILE,
  type CepeManifest,
  type ContrieverManifest,
  type Manifest,
} from '../../models/manifest.ts'
import { CodedError, messageOf } from '../../base/errors.ts'

/** Manifest of a built reader; every file it lists is there in its size. @throws model_invalid naming the file */
export async function readCepeManifest(modelDir: string): Promise<CepeManifest> {
  const value = await readManifest(modelDir)
  if (!Value.Check(CepeManifestSchema, value)) throw mismatch(modelDir, Value.Errors(CepeManifestSchema, value))
  await checkFolder(modelDir, value)
  return value
}

/** Manifest of a built retriever; every file it lists is there in its size. @throws model_invalid naming the file */
export async function readContrieverManifest(modelDir: string): Promise<ContrieverManifest> {
  const value = await readManifest(modelDir)
  if (!Value.Check(ContrieverManifestSchema, value)) throw mismatch(modelDir, Value.Errors(ContrieverManifestSchema, value))
  await checkFolder(modelDir, value)
  return value
}

function invalid(file: string, problem: string, cause?: unknown): CodedError {
  return new CodedError('model_invalid', `${file} ${problem}. Build the model again (cepe build).`, { field: file, cause })
}

async function readManifest(modelDir: string): Promise<unknown> {
  const file = path.join(modelDir, MANIFEST_FILE)
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw invalid(file, `cannot be read (${messageOf(error)})`, error)
  }
}

function mismatch(modelDir: string, [problem]: readonly { readonly instancePath: string; readonly message: string }[]): CodedError {
  return invalid(
    path.join(modelDir, MANIFEST_FILE),
    `is no manifest of the expected kind of model: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}`,
  )
}

/** Contents (SHA-256) are checked once per start by the models' own verification, not in every process: here versions and sizes. */
async function checkFolder(modelDir: string, { builder_version, files }: Manifest): Promise<void> {
  if (builder_version !== BUILDER_VERSION) {
    throw invalid(path.join(modelDir, MANIFEST_FILE), `is of builder version ${builder_version}, this version serves ${BUILDER_VERSION}`)
  }
  for (const { name, bytes } of files) {
    const file = path.join(modelDir, name)
    const found = await stat(file).catch(() => undefined)
    if (found === undefined) throw invalid(file, 'is missing')
    if (found.size !== bytes) throw invalid(file, `has ${found.size} bytes where the manifest states ${bytes}`)
  }
}
