import type { ReadOptions } from '../../index/read/read.ts'
import type { ReadItem, ReadLimits } from '../../index/read/contract.ts'
import type { Job, JobOptions } from './schema.ts'

const SHOWN = 20

/** Keeps the latest rejected lines in `latest`, on their way. */
export async function* noteRejects(items: AsyncIterable<ReadItem>, latest: Job['recent_rejects']): AsyncGenerator<ReadItem> {
  for await (const item of items) {
    if ('reason' in item) {
      latest.push(item)
      if (latest.length > SHOWN) latest.shift()
    }
    yield item
  }
}

/** How a job's corpus is read. @param name of its file, which passages without a source of their own are given. */
export function corpusReadOptions(
  { format, split_words, no_quotes, no_metadata, label }: JobOptions,
  name: string | undefined,
  limits: Partial<ReadLimits> | undefined,
): ReadOptions {
  const source = label ?? name
  return {
    ...(format === undefined ? {} : { format }),
    ...(split_words === undefined ? {} : { splitWords: split_words }),
    ...(no_quotes === true ? { quotes: false } : {}),
    ...(no_metadata === true ? { metadata: false } : {}),
    ...(source === undefined ? {} : { source }),
    ...(limits === undefined ? {} : { limits }),
  }
}
