import { basename } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { openWeightFile } from '../checkpoint/file.ts'
import { megabytes, typeLines, weightsIn } from '../checkpoint/tensor-lines.ts'
import { readGgufHeader } from './header.ts'
import type { MetadataValue } from './metadata.ts'
import { openGguf } from './open.ts'

/** The revision of the weights (`base_revision` of a composed checkpoint), or why no model can be built. */
async function outcomeOf(path: string): Promise<string> {
  try {
    const checkpoint = await openGguf(path)
    try {
      checkpoint.tokenizer?.()
    } finally {
      await checkpoint.close()
    }
    return `cepe build can build it; revision ${checkpoint.revision}`
  } catch (thrown) {
    return `cepe build cannot build it: ${messageOf(thrown)}`
  }
}

const LONGEST = 80

/** Formats as JSON, so that no control character reaches the terminal. */
function valueLine(value: MetadataValue): string {
  if (typeof value === 'object') return `list of ${value.length}`
  const text = JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} ... (${text.length} characters)` : text
}

/** Describes a GGUF file's tensors and metadata for the terminal. @throws checkpoint_invalid and unsupported if they cannot be read */
export async function inspectGguf(path: string): Promise<string> {
  const file = await openWeightFile(path)
  try {
    const { version, metadata, tensors } = await readGgufHeader(file)
    return [
      `${basename(path)}: GGUF version ${version}, ${weightsIn(tensors)}, ${megabytes(file.size)}`,
      await outcomeOf(path),
      ...typeLines(tensors, ({ type }) => type),
      '',
      'metadata:',
      ...[...metadata].map(([key, value]) => `  ${JSON.stringify(key).slice(1, -1)}: ${valueLine(value)}`),
    ].join('\n')
  } finally {
    await file.close()
  }
}
