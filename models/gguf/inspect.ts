import { basename } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { openWeightFile } from '../checkpoint/file.ts'
import { readGgufHeader, type GgufHeader } from './header.ts'
import type { MetadataValue } from './metadata.ts'
import { openGguf } from './open.ts'

export interface GgufDescription {
  readonly name: string
  readonly bytes: number
  readonly header: GgufHeader
  /** Revision of the weights (`base_revision` of a composed checkpoint), or why no model can be built. */
  readonly outcome: { readonly revision: string } | { readonly problem: string }
}

async function outcomeOf(path: string): Promise<GgufDescription['outcome']> {
  try {
    const checkpoint = await openGguf(path)
    try {
      checkpoint.tokenizer?.()
    } finally {
      await checkpoint.close()
    }
    return { revision: checkpoint.revision }
  } catch (thrown) {
    return { problem: messageOf(thrown) }
  }
}

/** Reads a GGUF file's metadata and tensor list. @throws checkpoint_invalid and unsupported if they cannot be read */
export async function inspectGguf(path: string): Promise<GgufDescription> {
  const file = await openWeightFile(path)
  try {
    const header = await readGgufHeader(file)
    return { name: basename(path), bytes: file.size, header, outcome: await outcomeOf(path) }
  } finally {
    await file.close()
  }
}

const LONGEST = 80

/** Formats as JSON, so that no control character reaches the terminal. */
function valueLine(value: MetadataValue): string {
  if (typeof value === 'object') return `list of ${value.length}`
  const text = JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} ... (${text.length} characters)` : text
}

function typeLines({ tensors }: GgufHeader): string[] {
  const types = [...new Set(tensors.map(({ type }) => type))].sort()
  return types.map((type) => {
    const those = tensors.filter((tensor) => tensor.type === type)
    const bytes = those.reduce((sum, tensor) => sum + tensor.bytes, 0)
    return `  ${type}: ${those.length} tensors, ${(bytes / 1e6).toFixed(2)} MB`
  })
}

/** Formats for the terminal. */
export function formatGguf({ name, bytes, header, outcome }: GgufDescription): string {
  const weights = header.tensors.reduce((sum, { shape }) => sum + shape.reduce((product, dim) => product * dim, 1), 0)
  const plain = (key: string): string => JSON.stringify(key).slice(1, -1)
  return [
    `${name}: GGUF version ${header.version}, ${weights.toLocaleString('en')} weights in ${header.tensors.length} tensors, ${(bytes / 1e6).toFixed(2)} MB`,
    'problem' in outcome ? `cepe build cannot build it: ${outcome.problem}` : `cepe build can build it; revision ${outcome.revision}`,
    ...typeLines(header),
    '',
    'metadata:',
    ...[...header.metadata].map(([key, value]) => `  ${plain(key)}: ${valueLine(value)}`),
  ].join('\n')
}
