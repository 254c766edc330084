import type { Task } from '../run/contract.ts'
import { altqa } from './altqa/task.ts'
import { choices } from './choices/task.ts'
import { icl } from './icl/task.ts'
import { lines } from './lines/task.ts'
import { lm } from './lm/task.ts'
import { passkey } from './passkey/task.ts'
import { ralm } from './ralm/task.ts'
import { zeroscrolls } from './zeroscrolls/task.ts'

/** All tasks except open-domain question answering, in report order; each is one folder. */
export const TASKS: readonly Task[] = [lm, ralm, icl, zeroscrolls, lines, passkey, altqa, choices]
