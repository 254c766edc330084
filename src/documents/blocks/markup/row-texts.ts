/** Maximum length of a column name. */
const LONGEST_NAME = 60

/**
 * Rows of a table as texts: "column: value; column: value", values only if the columns have no names.
 * @param hasHead the first row is marked as the columns' names; otherwise it is used as names if it looks like them
 */
export function rowTexts(grid: readonly (readonly string[])[], hasHead: boolean): string[] {
  const [first, ...rest] = grid
  if (first === undefined) return []
  const isHead = rest.length > 0 && (hasHead || looksLikeHead(first, rest))
  const names = isHead ? first : []
  return (isHead ? rest : grid)
    .map((row) =>
      row
        .map((value, i) => {
          const name = names[i]
          return value === '' || name === undefined || name === '' || name === value ? value : `${name.replace(/:$/, '')}: ${value}`
        })
        .filter((cell, i, cells) => cell !== '' && cell !== cells[i - 1])
        .join('; '),
    )
    .filter((row) => row !== '')
}

/** Names are short, distinct and not numeric, and rows follow. */
function looksLikeHead(first: readonly string[], rest: readonly (readonly string[])[]): boolean {
  return (
    first.length > 1 &&
    rest.every((row) => row.length <= first.length) &&
    new Set(first).size === first.length &&
    first.every((name) => name !== '' && name.length <= LONGEST_NAME && !/^[\d\s.,%+-]+$/.test(name))
  )
}
