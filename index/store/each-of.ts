import pLimit from 'p-limit'

/** Runs `work` for each item with bounded concurrency; stops at the first failure, which is thrown. */
export async function eachOf<T>(items: Iterable<T>, atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const limit = pLimit(atOnce)
  try {
    await limit.map(items, work)
  } catch (error) {
    limit.clearQueue()
    throw error
  }
}
