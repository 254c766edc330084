/** Whether a file contains passages, whose titles are texts: such texts are joined until they are long enough. */
export function isPassageFile(file: string): boolean {
  return /\.tsv(\.gz)?$/.test(file)
}

export interface LanguageText {
  readonly id: string
  readonly domain: string
  readonly ids: readonly number[]
  /** Tokens before `ids`, in files that separate them. */
  readonly before?: readonly number[]
  readonly contexts?: readonly { readonly ids: readonly number[]; readonly score: number }[]
}

/** Joins neighbouring texts until each has at least `tokens`; drops the rest. */
export function joinTexts(texts: readonly LanguageText[], tokens: number): LanguageText[] {
  const joined: LanguageText[] = []
  let open: LanguageText | undefined
  for (const text of texts) {
    open = open ? { ...open, ids: [...open.ids, ...text.ids] } : text
    if (open.ids.length >= tokens) {
      joined.push(open)
      open = undefined
    }
  }
  return joined
}

/** The complete slices of `size` values, from the first. */
export function slices<T>(values: readonly T[], size: number): (readonly T[])[] {
  return Array.from({ length: Math.floor(values.length / size) }, (_, i) => values.slice(i * size, (i + 1) * size))
}
