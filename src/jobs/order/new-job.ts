import { Value } from '#typebox/value'
import { CodedError } from '../../../base/errors.ts'
import { checkDeleteMissing } from '../folder/missing.ts'
import { checkShape } from '../reading.ts'
import { JobOptionsSchema, recordVersion, type Job } from '../schema.ts'

/** Parameters of a new job. */
export type NewJob = Required<Pick<Job, 'id' | 'table' | 'model' | 'source' | 'options'>>

/** Creates the record of a queued job. @throws options_invalid for options that its stored record could not contain */
export function newJob({ id, table, model, source, options }: NewJob): Job {
  const [wrong] = Value.Errors(JobOptionsSchema, options)
  if (wrong !== undefined) {
    const field = wrong.instancePath.slice(1)
    throw new CodedError('options_invalid', `${field} ${wrong.message}.`, { field })
  }
  checkDeleteMissing(source, options)
  if (source.files?.web !== undefined && options.label !== undefined)
    throw new CodedError('invalid_request', 'label goes with files: the source of a page of the web is its address.', { field: 'label' })
  checkShape(options)
  return {
    version: recordVersion(source),
    id,
    table,
    model,
    state: 'queued',
    source,
    options,
    created_at: new Date().toISOString(),
    finished_at: null,
    counters: { read: 0, rejected: 0, accepted: 0, embedded: 0, skipped: 0, committed: 0 },
    rate: null,
    eta_s: null,
    recent_rejects: [],
    warnings: [],
    error: null,
    result: null,
  }
}
