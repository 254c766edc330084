import pLimit from 'p-limit'

/** Does something for each of many, a few at a time; nothing more is begun after the first failure, which is thrown. */
export async function eachOf<T>(items: Iterable<T>, atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const limit = pLimit(atOnce)
  try {
    await limit.map(items, work)
  } catch (error) {
    limit.clearQueue()
    throw error
  }
}
