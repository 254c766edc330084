import type { YieldPoint } from '../../protocol.ts'
import type { Constraint } from './constraint.ts'
import type { OnToken } from './token-stream.ts'

/** Context of a run: what it awaits between steps, and the callback for its tokens. */
export interface RunContext {
  readonly yieldPoint: YieldPoint
  readonly onToken?: OnToken | undefined
  /** What the answer is held to, token by token. */
  readonly constraint?: Constraint | undefined
}
