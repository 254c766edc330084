import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { messageOf } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { Embed } from '../../contract.ts'
import { embedShard, type ShardDir } from './shard-dir.ts'
import { readLines } from '../../../base/files.ts'
import { describedError } from '../../../base/failures.ts'

const LINE_BYTES = 1000

/** Input line: the number of a shard. */
const WorkSchema = Type.Object({ shard: Type.Integer({ minimum: 0 }) }, { additionalProperties: false })

/** Output line: one per input line, in order. After a failure, processing continues with the next line. */
type WorkAnswer =
  | { readonly shard: number; readonly state: 'done' | 'present'; readonly passages: number; readonly ms: number }
  | { readonly shard: number | null; readonly state: 'failed'; readonly line: number; readonly code: string; readonly message: string }

/**
 * Embeds the shards named by input lines, one at a time, and yields a result for each. A failed shard is reported and skipped.
 * Holds one shard in memory: the next line is read once the result was consumed.
 */
export async function* answerWork(
  input: AsyncIterable<Buffer>,
  shardDir: ShardDir,
  embed: Embed,
  signal: AbortSignal,
): AsyncGenerator<WorkAnswer> {
  for await (const item of readLines(input, LINE_BYTES)) {
    const { line } = item
    const text = 'text' in item ? item.text : undefined
    if (text?.trim() === '') continue
    const work = text === undefined ? undefined : parseJson(text)
    if (!Value.Check(WorkSchema, work)) {
      const message = `Line ${line} is no work: send one JSON object a line, {"shard": <number>}.`
      yield { shard: null, state: 'failed', line, code: 'invalid_request', message }
      continue
    }
    const { shard } = work
    const started = performance.now()
    try {
      const { rows, present } = await embedShard(shardDir, shard, embed, signal)
      yield { shard, state: present ? 'present' : 'done', passages: rows, ms: Math.round(performance.now() - started) }
    } catch (error) {
      if (signal.aborted) throw error
      yield { shard, state: 'failed', line, ...describedError(error), message: messageOf(error) }
    }
  }
}
