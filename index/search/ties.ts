/** Rows beyond the wanted ones that are read at first: the next one shows whether there are equal scores at the end. */
export const MARGIN = 1
/** Rows that are read at most to find those with equal scores; beyond it, LanceDB decides which of them are found. */
const MOST = 16_384

/** A list of found rows, best first. */
export interface FoundList<Found> {
  /** At least the wanted rows, and all others with the score of the last of these. */
  readonly rows: Found[]
  /** True if there is no further row. */
  readonly complete: boolean
}

interface Scored {
  readonly score: number
}

/**
 * The best `k` rows and all that score as the last of them. LanceDB cuts its results before equal scores are ordered, so a list of another
 * length would begin with other rows.
 * @param find at most as many rows as given, best first
 */
export async function withTies<Found extends Scored>(k: number, find: (limit: number) => Promise<Found[]>): Promise<FoundList<Found>> {
  for (let limit = k + MARGIN; ; limit *= 4) {
    const found = await find(limit)
    const rows = upTo(found, k)
    if (found.length < limit || rows.length < found.length || limit >= MOST)
      return { rows, complete: rows.length === found.length && found.length < limit }
  }
}

/** The first k of sorted rows, and all others that are equal to the last of these. */
export function upTo<Found extends Scored>(
  rows: readonly Found[],
  k: number,
  isEqual: (a: Found, b: Found) => boolean = (a, b) => a.score === b.score,
): Found[] {
  const last = rows[k - 1]
  if (last === undefined) return [...rows]
  const end = rows.findIndex((row, i) => i >= k && !isEqual(row, last))
  return rows.slice(0, end === -1 ? rows.length : end)
}
