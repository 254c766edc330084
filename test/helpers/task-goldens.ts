import path from 'node:path'
import { readGolden, type Golden } from '../../models/golden.ts'
import { root } from './root.ts'

const OWN = path.join(root, 'test/fixtures/tasks')
/** Of the reference implementation, on its checkpoint cepe-tiny. */
export const REFERENCE_TASKS = path.join(root, 'test/fixtures/reference-tasks')

/** Outputs for the evaluation's tasks. */
export interface TaskGoldens {
  readonly whose: string
  /** The checkpoint that they are of. */
  readonly fixture: string
  readonly golden: (name: string) => Promise<Golden>
}

function goldensIn(folder: string, whose: string, fixture: string): TaskGoldens {
  return {
    whose,
    fixture,
    golden: (name) => readGolden(path.join(folder, `${name}.safetensors`)),
  }
}

export const TASK_GOLDENS = [
  goldensIn(OWN, "the recipe's model", 'cepe-tiny-gqa'),
  goldensIn(REFERENCE_TASKS, 'the reference', 'cepe-tiny'),
]
