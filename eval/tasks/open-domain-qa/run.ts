import { Compile } from '#typebox/compile'
import { CodedError } from '../../../base/errors.ts'
import { readStored, taskOfRun, UNNAMED_TASK, type RunFormat, type Stored } from '../../runner/folder.ts'
import { QaManifestSchema, type QaManifest } from './manifest.ts'
import { RecordSchema, type EvalRecord } from './record.ts'

const isManifest = Compile(QaManifestSchema)
const isRecord = Compile(RecordSchema)

/** Runs of open-domain question answering. */
export const QA_RUNS: RunFormat<QaManifest, EvalRecord> = {
  name: UNNAMED_TASK,
  manifest: isManifest,
  record: isRecord,
}

export type StoredRun = Stored<QaManifest, EvalRecord>

/** Reads a run of open-domain question answering. @throws run_invalid */
export async function readRun(folder: string): Promise<StoredRun> {
  const task = await taskOfRun(folder)
  if (task !== undefined) throw new CodedError('run_invalid', `${folder} holds a run of the task ${task}, not of ${QA_RUNS.name}.`)
  return readStored(folder, QA_RUNS)
}
