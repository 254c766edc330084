import type { Step } from '../protocol.ts'
import type { OnToken } from './speaker.ts'

/** How a run goes on: what it awaits between its steps, and who is told of its tokens. */
export interface Course {
  readonly step: Step
  readonly onToken?: OnToken | undefined
}
