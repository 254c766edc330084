import { at } from '../../../base/at.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'

export interface Labelled {
  readonly id: string
  readonly text: string
  readonly label: string
}

/**
 * Demonstrations of one test item, balanced over the classes: concatenated sets with one of each class in random order, truncated to
 * `count`. They are distinct within a class, unless it has too few. Depends on seed and item only.
 */
export function balancedDemonstrations(
  pool: readonly Labelled[],
  labels: readonly string[],
  count: number,
  { seed, item }: { readonly seed: number; readonly item: string },
): Labelled[] {
  const random = seededRandom('icl', seed, item)
  const sets = Math.ceil(count / labels.length)
  const byClass = labels
    .map((label) => pool.filter((example) => example.label === label && example.id !== item))
    .filter((examples) => examples.length > 0)
    .map((examples) => {
      const drawn = sampleIndices(examples.length, sets, random).map((i) => at(examples, i))
      while (drawn.length < sets) drawn.push(at(examples, Math.floor(random() * examples.length)))
      return drawn
    })
  const ordered = Array.from({ length: sets }, (_, i) =>
    sampleIndices(byClass.length, byClass.length, random).map((c) => at(at(byClass, c), i)),
  )
  return ordered.flat().slice(0, count)
}
