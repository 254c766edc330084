import { CodedError } from '../../base/errors.ts'
import { type Block, heading } from '../report/blocks.ts'
import { writeReport } from '../report/report.ts'
import { OPEN_DOMAIN_QA, readStored, taskOfRun } from '../run/folder.ts'
import type { Task, TaskRun } from '../run/contract.ts'
import { TASK_RUNS } from '../run/record.ts'
import { buildTaskReport } from '../run/report.ts'
import { altqa } from './altqa/task.ts'
import { choices } from './choices/task.ts'
import { icl } from './icl/task.ts'
import { lines } from './lines/task.ts'
import { lm } from './lm/task.ts'
import { readRun } from './open-domain-qa/record.ts'
import { buildReport } from './open-domain-qa/report.ts'
import { taskRunOf } from './open-domain-qa/scores.ts'
import { publishedScores } from './open-domain-qa/tables.ts'
import { passkey } from './passkey/task.ts'
import { ralm } from './ralm/task.ts'
import { zeroscrolls } from './zeroscrolls/task.ts'

/** All tasks except open-domain question answering, in report order; each is one folder. */
export const TASKS: readonly Task[] = [lm, ralm, icl, zeroscrolls, lines, passkey, altqa, choices]

/**
 * Reads runs and writes their report, questions last.
 * @throws run_invalid, run_mismatch, options_invalid
 */
export async function reportRuns(
  folders: readonly string[],
  out: string,
  top: { readonly title?: string; readonly lead?: readonly Block[] } = {},
): Promise<void> {
  const named = await Promise.all(folders.map(async (folder) => ({ folder, isQa: (await taskOfRun(folder)) === OPEN_DOMAIN_QA })))
  const tasks = await Promise.all(named.filter(({ isQa }) => !isQa).map(({ folder }) => readRunOf(folder)))
  const questions = await Promise.all(named.filter(({ isQa }) => isQa).map(({ folder }) => readRun(folder)))
  const ofTasks = buildTaskReport(tasks, top.title, top.lead)
  const ofQuestions = buildReport(questions, publishedScores(), tasks.length === 0 ? top : {})
  // As a section of another report, headings are one level lower.
  const lowered = ofQuestions.blocks.map((block) => (block.kind === 'heading' ? heading(block.level === 1 ? 2 : 3, block.text) : block))
  const both = { ...ofTasks, blocks: [...ofTasks.blocks, ...lowered] }
  await writeReport(tasks.length === 0 ? ofQuestions : questions.length === 0 ? ofTasks : both, out)
}

/** Reads a run of any task. @throws run_invalid if the folder holds no run of this version's tasks; as readStored */
export async function readRunOf(folder: string): Promise<TaskRun> {
  const name = await taskOfRun(folder)
  if (name === OPEN_DOMAIN_QA) return taskRunOf(await readRun(folder))
  const task = TASKS.find((candidate) => candidate.name === name)
  if (task === undefined) throw new CodedError('run_invalid', `${folder} holds a run of ${name}, which is no task of this version.`)
  return { ...(await readStored(folder, TASK_RUNS)), task, seed: 0 }
}
