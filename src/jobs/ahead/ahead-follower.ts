import { messageOf } from '../../../base/errors.ts'
import type { Log } from '../../inference/log.ts'
import type { PassageIndex } from '../../../index/open.ts'
import type { AheadEncoder } from '../../inference/contract.ts'
import { encodeIndexAhead } from './encode-ahead.ts'

/** Stores the encoder states of new passages whenever the table changes. */
export interface AheadFollower {
  /** Starts a pass over the table, or schedules another one if a pass is running. */
  follow(): void
  close(): Promise<void>
}

/** Runs at lower priority than questions. A failure is logged; the next change of the table retries. */
export function startAheadFollower(options: {
  readonly index: Pick<PassageIndex, 'count' | 'export' | 'refresh'>
  readonly reader: AheadEncoder
  readonly log?: Log | undefined
}): AheadFollower {
  const { log = () => undefined } = options
  const closing = new AbortController()
  let wanted = false
  let running: Promise<void> | undefined
  const run = async (): Promise<void> => {
    while (wanted && !closing.signal.aborted) {
      wanted = false
      try {
        await options.index.refresh()
        const { done, stored, bytes } = await encodeIndexAhead({ ...options, signal: closing.signal })
        log('info', `Encoder states of ${done} passages are on the disk: ${stored} new ones of ${Math.round(bytes / 2 ** 20)} MB`)
      } catch (error) {
        if (!closing.signal.aborted) log('warn', `Encoder states are not stored ahead: ${messageOf(error)}`)
      }
    }
    running = undefined
  }
  return {
    follow: () => {
      wanted = true
      running ??= run()
    },
    close: async () => {
      closing.abort()
      await running
    },
  }
}
