import { readFile } from 'node:fs/promises'
import { Type, type Static } from '#typebox'
import { Compile } from '#typebox/compile'
import { present } from '../../../base/at.ts'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { readPublishedTables, type PublishedTables } from '../../report/published-tables.ts'

const DATASETS = ['nq', 'triviaqa', 'popqa'] as const

const PublishedSchema = Type.Object({
  source: Type.String({ description: 'Where the numbers stand: paper and table.' }),
  scores: Type.Array(
    Type.Object({
      dataset: Type.Enum([...DATASETS]),
      model: Type.String({ description: 'Folder name of the published checkpoint, such as CEPE-LLaMA-2-7B.' }),
      method: Type.String({ description: "As in the report's first column: cepe, decoder-only, map-rerank, replug, closed-book." }),
      k: Type.Integer({ minimum: 0 }),
      exact_match: Type.Number({ minimum: 0, maximum: 100, description: 'In percent, as printed.' }),
    }),
  ),
})
export type Published = Static<typeof PublishedSchema>

const validator = Compile(PublishedSchema)

/** Checkpoints of the rows of the paper's Table 7, and their modes: a CEPE model's decoder is LLaMA-2, frozen. */
const ROWS: Readonly<Record<string, { readonly method: string; readonly models: readonly string[] }>> = {
  'LLaMA-2': { method: 'decoder-only', models: ['Llama-2-7b-hf', 'CEPE-LLaMA-2-7B'] },
  'LLaMA-2-32K': { method: 'decoder-only', models: ['LLaMA-2-7B-32K'] },
  RePlug: { method: 'replug', models: ['Llama-2-7b-hf', 'CEPE-LLaMA-2-7B'] },
  CEPE: { method: 'cepe', models: ['CEPE-LLaMA-2-7B'] },
}

/**
 * Published scores for comparison: those of a file, or the paper's Table 7.
 * @throws options_invalid
 */
export async function readPublished(file?: string): Promise<Published> {
  if (file === undefined) return shipped(await readPublishedTables())
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (validator.Check(value)) return value
    const [error] = validator.Errors(value)
    throw new Error(`${error?.instancePath ?? ''} ${error?.message ?? 'is not valid'}`)
  } catch (error) {
    throw new CodedError('options_invalid', `${file} holds no published scores: ${messageOf(error)}.`, { cause: error })
  }
}

function shipped({ source, tables }: PublishedTables): Published {
  const scores = (tables['7']?.rows ?? []).flatMap((row) => {
    const { method, models } = present(ROWS[String(row['model'])])
    return models.flatMap((model) =>
      DATASETS.map((dataset) => ({ dataset, model, method, k: Number(row['k']), exact_match: Number(row[dataset]) })),
    )
  })
  return { source: `${source}, Table 7`, scores }
}

/** The published scores for the same dataset and model (by the checkpoint's name, in any precision). */
export function matchingScores({ scores }: Published, dataset: string, reader: string): Published['scores'] {
  return scores.filter((score) => score.dataset === dataset && score.model === reader.split('@')[0])
}
