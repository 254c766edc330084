import { Value } from 'typebox/value'
import { CodedError } from '../../../base/errors.ts'
import { checkDeleteMissing } from '../folder/missing.ts'
import { checkShape } from '../reading.ts'
import { JobOptionsSchema, recordVersion, type Job } from '../schema.ts'

/** What is ordered: its source, with what options, for which table and model. */
export type NewJob = Required<Pick<Job, 'id' | 'table' | 'model' | 'source' | 'options'>>

/** The record of a job that waits. @throws options_invalid for options that its record could not be read with again */
export function newJob({ id, table, model, source, options }: NewJob): Job {
  const [wrong] = Value.Errors(JobOptionsSchema, options)
  if (wrong !== undefined) {
    const field = wrong.instancePath.slice(1)
    throw new CodedError('options_invalid', `${field} ${wrong.message}.`, { field })
  }
  checkDeleteMissing(source, options)
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
