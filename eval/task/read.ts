import { CodedError } from '../../base/errors.ts'
import { readStored, taskOfRun, UNNAMED_TASK, type Stored } from '../runner/folder.ts'
import { TASKS } from '../tasks/list.ts'
import { TASK_RUNS, type TaskManifest, type TaskRecord } from './record.ts'
import type { Task } from './contract.ts'

export interface TaskRun extends Stored<TaskManifest, TaskRecord> {
  readonly task: Task
}

/** Reads a task's run. @throws run_invalid if the folder holds no run of this version's tasks */
export async function readRunOf(folder: string): Promise<TaskRun> {
  const name = await taskOfRun(folder)
  const task = TASKS.find((candidate) => candidate.name === name)
  if (task === undefined)
    throw new CodedError(
      'run_invalid',
      `${folder} holds a run of ${name ?? UNNAMED_TASK}, which cannot be reported together with runs of ${TASKS.map((known) => known.name).join(', ')}.`,
    )
  const stored = await readStored(folder, TASK_RUNS)
  if (stored.manifest.subject.version !== task.version)
    throw new CodedError(
      'run_mismatch',
      `${folder} is of version ${stored.manifest.subject.version} of the task ${task.name}; this is version ${task.version}: run it again.`,
    )
  return { ...stored, task }
}
