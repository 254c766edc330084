import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'
import type { Sample } from '../../models/against.ts'

/** Lines for the encoder per comparison; the decoder reads one more. */
const CONTEXTS = 8
const MOST_TOKENS = 128
export const DEFAULT_SAMPLES = 16

export interface DistanceTexts {
  /** Text that both builds read, a passage a line. */
  readonly texts: string
  /** Groups of lines that are read. */
  readonly samples: number
}

/** How far a build's results are from another's of the same checkpoint, in lines for people. @throws those of compareBuilds; options_invalid for texts that cannot be read */
export async function buildDistance(built: string, other: string, { texts, samples }: DistanceTexts): Promise<string> {
  const { compareBuilds, formatDistance } = await import('../../models/against.ts')
  return formatDistance(await compareBuilds(built, other, await samplesOf(built, texts, samples)))
}

/**
 * How far a build is from the same checkpoint in f32, which is built beside it for the comparison and removed.
 * @param buildF32 builds into the folder that it is given
 * @throws those of buildF32 and buildDistance
 */
export async function distanceFromF32(built: string, texts: string, buildF32: (folder: string) => Promise<unknown>): Promise<string> {
  const folder = await mkdtemp(`${path.resolve(built)}.f32-`)
  try {
    const f32 = path.join(folder, 'f32')
    await buildF32(f32)
    return await buildDistance(built, f32, { texts, samples: DEFAULT_SAMPLES })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @throws options_invalid where the file cannot be read: said before a build that takes minutes */
export async function checkTexts(file: string): Promise<void> {
  await access(file).catch((cause: unknown) => {
    throw unreadable(file, cause)
  })
}

/** Groups of lines spread over the file. */
async function samplesOf(built: string, file: string, count: number): Promise<Sample[]> {
  const [{ loadManifest }, { loadTokenizer }] = await Promise.all([import('../../models/folder.ts'), import('../text/tokenizer.ts')])
  const manifest = await loadManifest(built)
  const special =
    manifest.architecture === 'cepe' ? { bosId: manifest.tokens.bos_id, eosIds: manifest.tokens.eos_ids } : { bosId: null, eosIds: [] }
  const tokenizer = await loadTokenizer(built, special)
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw unreadable(file, cause)
  })
  const lines = content.split('\n').filter((line) => line.trim() !== '')
  const stride = Math.max(Math.floor(lines.length / count), 1)
  const ids = (line: string): number[] => tokenizer.encode(line.replace(/^[^\t]*\t/, ''), { maxTokens: MOST_TOKENS })
  return Array.from({ length: Math.min(count, Math.ceil(lines.length / stride)) }, (_, i) =>
    lines.slice(i * stride, i * stride + CONTEXTS + 1),
  )
    .map((group) => ({ contexts: group.slice(0, -1).map(ids), prompt: ids(group.at(-1) ?? '') }))
    .filter(({ contexts, prompt }) => prompt.length > 0 && contexts.every((context) => context.length > 0))
}

function unreadable(file: string, cause: unknown): CodedError {
  return new CodedError('options_invalid', `The texts of --texts cannot be read (${file}).`, { field: '--texts', cause })
}
