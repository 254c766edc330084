import { upTo, type FoundList } from './ties.ts'

/** A hit with its score. */
interface Scored {
  readonly id: string
  readonly score: number
}

/** Weight of dense search in tables that were not measured: those filled by single upserts or by earlier versions. */
export const DEFAULT_DENSE_WEIGHT = 0.4

/** Hits of each search whose scores are fused. Hits beyond them come after all of these, whatever their number. */
export const FUSED_DEPTH = 100

export type Fused<Hit> = Hit & {
  /** Order among hits without a fused score: those beyond the fused ones by their scaled scores, which are negative. */
  readonly beyond: number
}

/**
 * Convex combination of two searches' scores, each scaled from 0 to 1 (its best hit): `denseWeight * dense + (1 - denseWeight) * text`
 * (Bruch, Gai, Ingber, TOIS 2023). 0 is the score of the last fused hit; for words, where all passages with one of them were found, it is
 * no word at all. Unlike ranks, scores preserve by how much the best hits lead, so that a confident search outweighs the other.
 * @param lists hits of the dense and of the text search
 * @param denseWeight 0 to 1
 * @returns the k best, and all others that are equal to the last of these; their scores are the fused ones, 0 to 1
 */
export function fuseScores<Hit extends Scored>(
  { dense, text }: { readonly dense: FoundList<Hit>; readonly text: FoundList<Hit> },
  denseWeight: number,
  k: number,
): Fused<Hit>[] {
  const sides = [side(dense.rows, denseWeight), side(text.rows, 1 - denseWeight, text.complete)] as const
  const all = new Map([...dense.rows, ...text.rows].map((hit) => [hit.id, hit]))
  const fused = [...all.values()].map((hit): Fused<Hit> => {
    const scores = sides.map(({ score }) => score(hit.id))
    const isFused = sides.some(({ isFused }) => isFused(hit.id))
    const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
    return { ...hit, score: sum(scores.map((score) => Math.max(0, score))), beyond: isFused ? 0 : sum(scores) }
  })
  return upTo(fused.sort(compareFused), k, (a, b) => a.score === b.score && a.beyond === b.beyond)
}

/** By score, then by id. */
export function compareFused(a: Fused<Scored>, b: Fused<Scored>): number {
  return b.score - a.score || b.beyond - a.beyond || (a.id < b.id ? -1 : 1)
}

/** Weighted scores of one search: 0 for the last fused hit, negative beyond it, and for others as for the last one found. */
function side(rows: readonly Scored[], weight: number, fromZero = false) {
  const fusedRows = upTo(rows, FUSED_DEPTH)
  const best = rows[0]?.score ?? 0
  const range = best - (fromZero ? 0 : (fusedRows.at(-1)?.score ?? 0))
  const scaled = (score: number): number => weight * (range > 0 ? (score - best + range) / range : 1)
  const scores = new Map(rows.map(({ id, score }) => [id, scaled(score)]))
  const last = rows.length > fusedRows.length ? scaled(rows.at(-1)?.score ?? 0) : 0
  const fused = new Set(fusedRows.map(({ id }) => id))
  return { score: (id: string) => scores.get(id) ?? last, isFused: (id: string) => fused.has(id) }
}
