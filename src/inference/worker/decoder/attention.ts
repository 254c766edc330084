import { sum } from '../../../../base/at.ts'
import type { AttentionFocus } from '../../contract.ts'

/**
 * Measures of an answer's cross-attention: the share of each context (they sum to 1, or are all 0 without attention), and as requested.
 * @param attention [generated tokens, m], row-major
 * @param tokenCounts rows of phi per context, in phi's order; they sum to m
 */
export function measuredAttention(attention: Float32Array, tokenCounts: readonly number[], wantsTokenShares = false) {
  const rows = sum(tokenCounts)
  const masses = new Float64Array(rows)
  for (let i = 0; i < attention.length; i++) masses[i % rows] = (masses[i % rows] as number) + (attention[i] as number)
  const massOf = (some: Float64Array): number => some.reduce((sum, mass) => sum + mass, 0)
  const total = massOf(masses)
  const share = (mass: number): number => (total > 0 ? mass / total : 0)
  let from = 0
  return {
    contextShares: tokenCounts.map((count) => share(massOf(masses.subarray(from, (from += count))))),
    attentionFocus: attentionFocus(attention, rows),
    ...(wantsTokenShares && { tokenShares: masses.map(share) }),
  }
}

/** Peak and relative entropy of each generated token's attention over the rows of phi. */
function attentionFocus(attention: Float32Array, m: number): AttentionFocus[] {
  if (m === 0) return []
  return Array.from({ length: attention.length / m }, (_, token) => {
    const row = attention.subarray(token * m, (token + 1) * m)
    let [total, peak, weighed] = [0, 0, 0]
    for (const mass of row) {
      total += mass
      peak = Math.max(peak, mass)
      if (mass > 0) weighed += mass * Math.log(mass)
    }
    // -sum (a/t) log (a/t) = log t - (sum a log a) / t
    return total > 0
      ? { peak: peak / total, entropy: m > 1 ? (Math.log(total) - weighed / total) / Math.log(m) : 0 }
      : { peak: 0, entropy: 1 }
  })
}
