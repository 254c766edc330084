import type { PassageIndex } from '../../../index/passage-index.ts'
import type { IndexVersion } from '../../rag/retrieve.ts'

/** The operator's description of the corpus; empty fields are derived from titles. */
export interface PageSettings {
  readonly title: string
  readonly about: string
  /** Separated by `;`. */
  readonly questions: string
}

/** Description of the corpus on the page. */
export interface CorpusText {
  readonly title: string
  readonly about: string
  readonly questions: readonly string[]
}

/** Questions for the demo corpus, each with the passage that answers it. */
const DEMO = [
  { id: '1114', title: 'Australia', question: 'What is the capital of Australia?' },
  { id: '1028', title: 'Giuseppe Verdi', question: 'Who composed Aida?' },
  { id: '407', title: 'spinning jenny', question: 'Who invented the spinning jenny?' },
]
const MOST_QUESTIONS = 3
const TITLES_READ = 12
const TITLES_SHOWN = 3
/** Longer titles are skipped. */
const TITLE_CHARACTERS = 60

/**
 * Describes the corpus by the settings, else by some titles, read once per version of the table.
 * @returns a function of the index's version, or of another index's, which is not cached
 * @param index source of titles; none are shown if it cannot be read
 */
export function corpusTexts(
  settings: PageSettings,
  index: Pick<PassageIndex, 'titles' | 'get'>,
): (version: IndexVersion | null, other?: Pick<PassageIndex, 'titles' | 'get'>) => Promise<CorpusText> {
  let made: { readonly of: string; readonly text: Promise<CorpusText> } | undefined
  return (version, other) => {
    if (other !== undefined) return describe(settings, other, version)
    const of = JSON.stringify(version)
    if (made?.of !== of) made = { of, text: describe(settings, index, version) }
    return made.text
  }
}

async function describe(
  { title, about, questions }: PageSettings,
  index: Pick<PassageIndex, 'titles' | 'get'>,
  version: IndexVersion | null,
): Promise<CorpusText> {
  const given = questions.split(';').flatMap((one) => one.trim() || [])
  const titles = version === null || (about !== '' && given.length > 0) ? [] : shown(await index.titles(TITLES_READ).catch(() => []))
  const asked = given.length > 0 || version === null ? given : [...(await demoQuestions(index)), ...titles.map(questionAbout)]
  return { title, about: about || sentence(version?.passages ?? 0, titles), questions: asked.slice(0, MOST_QUESTIONS) }
}

/** Distinct titles that fit on a line. */
function shown(titles: readonly string[]): string[] {
  return [...new Set(titles.map((title) => title.trim()))].filter((title) => title !== '' && title.length <= TITLE_CHARACTERS)
}

async function demoQuestions(index: Pick<PassageIndex, 'get'>): Promise<string[]> {
  const found = await Promise.all(DEMO.map(({ id }) => index.get(id).catch(() => undefined)))
  return DEMO.filter(({ title }, i) => found[i]?.title === title).map(({ question }) => question)
}

function questionAbout(title: string): string {
  return `What is said about ${title}?`
}

/** Such as "2,305 passages, among them some about Canberra, Aida and the Orinoco." */
function sentence(passages: number, titles: readonly string[]): string {
  if (passages === 0) return 'No passages yet.'
  const count = passages === 1 ? '1 passage' : `${passages.toLocaleString('en')} passages`
  if (titles.length === 0) return `${count}.`
  const stride = Math.max(1, titles.length / TITLES_SHOWN)
  const some = new Intl.ListFormat('en-GB').format(titles.filter((_, i) => i % stride < 1).slice(0, TITLES_SHOWN))
  return titles.length > TITLES_SHOWN ? `${count}, among them some about ${some}.` : `${count} about ${some}.`
}
