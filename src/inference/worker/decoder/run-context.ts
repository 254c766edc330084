import type { YieldPoint } from '../../protocol.ts'
import type { Constraint } from './constraint.ts'
import type { OnToken } from './text-streamer.ts'

/** Context of a run: its yield point, and the callback for its tokens. */
export interface RunContext {
  readonly yieldPoint: YieldPoint
  readonly onToken?: OnToken | undefined
  /** Constraint on the answer, token by token. */
  readonly constraint?: Constraint | undefined
}
