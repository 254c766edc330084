import { type Block, heading, table } from '../report/blocks.ts'
import type { Estimate } from '../statistics/bootstrap.ts'
import type { GroupScores } from './summary.ts'

interface Shown {
  /** Key and label of the score. */
  readonly name: string
  readonly label: string
  /** Plural noun for the items. */
  readonly what: string
  /** Groups with fewer values have no table. */
  readonly leastValues: number
  readonly show: (estimate: Estimate) => string
}

/** One table per group of items: a score of every setting by the group's values. */
export function groupTables(
  settings: readonly { readonly name: string; readonly groups: readonly GroupScores[] }[],
  { name, label, what, leastValues, show }: Shown,
): Block[] {
  const all = settings.flatMap(({ groups }) => groups)
  return [...new Set(all.map(({ group }) => group))].flatMap((group) => {
    const values = [...new Set(all.filter((score) => score.group === group).map(({ value }) => value))]
    if (values.length < leastValues) return []
    const words = group.replaceAll('_', ' ')
    const rows = values.map((value) => {
      const scores = settings.map(({ groups }) => groups.find((score) => score.group === group && score.value === value))
      return [
        value,
        String(scores[0]?.n ?? 0),
        ...scores.map((score) => {
          const estimate = score?.scores[name]
          return estimate ? show(estimate) : '-'
        }),
      ]
    })
    return [heading(3, `${label} by ${words}`), table([words, what, ...settings.map((setting) => setting.name)], rows)]
  })
}
