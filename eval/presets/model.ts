import { CodedError } from '../../base/errors.ts'
import type { Preset, PresetModel } from './schema.ts'

/** The reader that a preset is asked of. */
export interface AskedReader {
  /** Name, revision and precision. */
  readonly id: string
  /** Unknown of a service. */
  readonly hasEncoder?: boolean
}

/**
 * Which model of the table the reader stands for: what `as` says, else the one whose checkpoint has its name, else the one that
 * stands for models of no known checkpoint.
 * @throws options_invalid where none does
 */
export function chooseModel(
  { models, table }: Pick<Preset, 'models' | 'table'>,
  { id, hasEncoder = true }: AskedReader,
  as?: string,
): PresetModel {
  const names = models.map(({ name }) => JSON.stringify(name)).join(', ')
  if (as !== undefined) {
    const named = models.find(({ name }) => name === as)
    if (named === undefined) throw new CodedError('options_invalid', `--as takes ${names}, not ${JSON.stringify(as)}.`)
    return named
  }
  const name = id.split('@')[0]
  const found =
    models.find(({ checkpoints }) => checkpoints.some((checkpoint) => checkpoint.split('/').at(-1) === name)) ??
    models.find(({ fallback }) => fallback === 'any' || fallback === (hasEncoder ? 'encoder' : 'decoder'))
  if (found) return found
  throw new CodedError(
    'options_invalid',
    `Table ${table} has no row for ${id}${hasEncoder ? '' : ', which has no encoder'}: say with --as which of its models it stands for (${names}).`,
  )
}
