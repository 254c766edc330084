import { messageOf } from '../../../base/errors.ts'
import type { Log } from '../../inference/log.ts'
import type { PassageIndex } from '../../../index/open.ts'
import type { AheadEncoder } from '../../inference/contract.ts'
import { encodeIndexAhead } from './encode-ahead.ts'

/** Keeps the states of a table's passages on the disk while the table changes. */
export interface AheadFollower {
  /** Looks through the table, or once more where that is under way. */
  follow(): void
  close(): Promise<void>
}

/** Runs behind questions; a failure is logged, and the next change of the table tries again. */
export function startAheadFollower(options: {
  readonly index: Pick<PassageIndex, 'count' | 'export' | 'refresh'>
  readonly reader: AheadEncoder
  readonly log?: Log
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
