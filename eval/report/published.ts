import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { packageRoot } from '../../src/config.ts'
import { CodedError, messageOf } from '../../base/errors.ts'

const PublishedSchema = Type.Object({
  source: Type.String({ description: 'Where the numbers stand: paper and table.' }),
  scores: Type.Array(
    Type.Object({
      dataset: Type.Enum(['nq', 'triviaqa', 'popqa']),
      model: Type.String({ description: 'Folder name of the published checkpoint, such as CEPE-LLaMA-2-7B.' }),
      method: Type.String({ description: "As in the report's first column: cepe, decoder-only, replug, closed-book." }),
      k: Type.Integer({ minimum: 0 }),
      exact_match: Type.Number({ minimum: 0, maximum: 100, description: 'In percent, as printed.' }),
    }),
  ),
})
export type Published = Static<typeof PublishedSchema>

const validator = Compile(PublishedSchema)

/** Numbers that ship with the project. */
export function publishedFile(): string {
  return path.join(packageRoot(), 'eval', 'published.json')
}

/** Reads published scores to set beside a run's own. */
export async function readPublished(file: string): Promise<Published> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (validator.Check(value)) return value
    const [error] = validator.Errors(value)
    throw new Error(`${error?.instancePath ?? ''} ${error?.message ?? 'is not valid'}`)
  } catch (error) {
    throw new CodedError('options_invalid', `${file} holds no published scores: ${messageOf(error)}.`, { cause: error })
  }
}

/** The published scores for the same dataset and the same model (by the checkpoint's name, whatever its precision). */
export function matchingScores({ scores }: Published, dataset: string, reader: string): Published['scores'] {
  return scores.filter((score) => score.dataset === dataset && score.model === reader.split('@')[0])
}
