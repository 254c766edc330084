import type { YieldPoint } from '../../protocol.ts'
import type { OnToken } from './token-stream.ts'

/** Context of a run: what it awaits between steps, and the callback for its tokens. */
export interface RunContext {
  readonly yieldPoint: YieldPoint
  readonly onToken?: OnToken | undefined
}
