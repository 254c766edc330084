import { CodedError } from '../../base/errors.ts'
import type { Preset, PresetModel } from './schema.ts'

/** The reader that a preset is run with. */
export interface AskedReader {
  /** Name, revision and precision. */
  readonly id: string
  /** Unknown for a remote service. */
  readonly hasEncoder?: boolean
}

/**
 * Chooses the table's model that the reader represents: `as`, else the model with its checkpoint name, else the model for unknown
 * checkpoints.
 * @throws options_invalid if there is none
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
    `Table ${table} has no row for ${id}${hasEncoder ? '' : ', which has no encoder'}: name the represented model with --as (${names}).`,
  )
}
