import type { PassageSource } from '../retrieve.ts'

const TITLES_READ = 12
const TITLES_SHOWN = 3
/** Longer titles are skipped. */
const TITLE_CHARACTERS = 60

/** Some titles of an index that fit on a line, each once; none if it cannot be read. */
export async function someTitles(index: Pick<PassageSource, 'titles'>): Promise<string[]> {
  const found = (await index.titles?.(TITLES_READ).catch(() => [])) ?? []
  return [...new Set(found.map((title) => title.trim()))].filter((title) => title !== '' && title.length <= TITLE_CHARACTERS)
}

/** Such as "2,305 passages, among them some about Canberra, Aida and the Orinoco." */
export function aboutPassages(passages: number, titles: readonly string[]): string {
  if (passages === 0) return 'No passages yet.'
  const count = passages === 1 ? '1 passage' : `${passages.toLocaleString('en')} passages`
  if (titles.length === 0) return `${count}.`
  const stride = Math.max(1, titles.length / TITLES_SHOWN)
  const some = new Intl.ListFormat('en-GB').format(titles.filter((_, i) => i % stride < 1).slice(0, TITLES_SHOWN))
  return titles.length > TITLES_SHOWN ? `${count}, among them some about ${some}.` : `${count} about ${some}.`
}

/** A sentence on what can be asked of an index. */
export async function suggestQuestion(index: PassageSource): Promise<string> {
  const version = await index
    .view()
    .then((table) => table.version())
    .catch(() => null)
  const about = aboutPassages(version?.passages ?? 0, version === null ? [] : await someTitles(index))
  return `Ask a question about what is in here: ${about.charAt(0).toLowerCase()}${about.slice(1)}`
}
