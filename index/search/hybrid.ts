/** A hit with its score. */
interface Scored {
  readonly id: string
  readonly score: number
}

/** Weight of dense search in tables that were not measured: those filled by single upserts or by earlier versions. */
export const DEFAULT_DENSE_WEIGHT = 0.4

/** Minimum hits of each search: scores are scaled between the best and the last of them. */
export const FUSED_DEPTH = 100

/**
 * Convex combination of two searches' scores, each scaled from 0 (its last hit) to 1 (its best): `denseWeight * dense + (1 - denseWeight) *
 * text` (Bruch, Gai, Ingber, TOIS 2023). Unlike ranks, scores preserve by how much the best hits lead, so that a confident search outweighs
 * the other.
 * @param lists hits of the dense and of the text search, best first
 * @param denseWeight 0 to 1
 * @returns the k best; their scores are the fused ones, 0 to 1
 */
export function fuseScores<Hit extends Scored>(
  { dense, text }: { readonly dense: readonly Hit[]; readonly text: readonly Hit[] },
  denseWeight: number,
  k: number,
): (Hit & { readonly rank: number })[] {
  const fused = new Map<string, Hit>()
  for (const [hits, weight] of [[dense, denseWeight] as const, [text, 1 - denseWeight] as const]) {
    const scaled = scale(hits)
    for (const hit of hits) fused.set(hit.id, { ...hit, score: (fused.get(hit.id)?.score ?? 0) + weight * scaled(hit.score) })
  }
  return [...fused.values()]
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
    .slice(0, k)
    .map((hit, i) => ({ ...hit, rank: i + 1 }))
}

function scale(hits: readonly Scored[]): (score: number) => number {
  const best = hits[0]?.score ?? 0
  const range = best - (hits.at(-1)?.score ?? 0)
  return range > 0 ? (score) => (score - best + range) / range : () => 1
}
