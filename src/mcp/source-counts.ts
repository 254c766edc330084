import type { PassageIndex } from '../../index/passage-index.ts'

/** Minimum interval between counts of a changing table: counting reads a whole column. */
const KEEP_MS = 60_000

const counts = new WeakMap<object, { storedAs: string; version: number; at: number; sources: ReturnType<PassageIndex['sources']> }>()

/**
 * Lists the sources of an index. Counts once per version of the stored table and at most once in `keepMs`, except that another table under
 * the name is counted at once; concurrent calls share one scan.
 */
export async function sourcesOf(index: Pick<PassageIndex, 'sources' | 'info'>, keepMs = KEEP_MS, now = Date.now) {
  const { storedAs, version } = await index.info()
  const known = counts.get(index)
  if (known?.storedAs === storedAs && (known.version === version || now() - known.at < keepMs)) return known.sources
  const sources = index.sources()
  const counted = { storedAs, version, at: now(), sources }
  counts.set(index, counted)
  // The next call retries after a failure.
  sources.catch(() => counts.get(index) === counted && counts.delete(index))
  return sources
}
