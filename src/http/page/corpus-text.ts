import type { PassageIndex } from '../../../index/passage-index.ts'
import { aboutPassages, someTitles } from '../../rag/no-answer/about.ts'
import type { Config } from '../../settings.ts'

/** The operator's description of the corpus; empty fields are derived from titles. Questions are separated by `;`. */
type PageSettings = Pick<Config, 'PAGE_TITLE' | 'PAGE_ABOUT' | 'PAGE_QUESTIONS'>

/** Questions for the demo corpus, each with the passage that answers it. */
const DEMO = [
  { id: '1114', title: 'Australia', question: 'What is the capital of Australia?' },
  { id: '1028', title: 'Giuseppe Verdi', question: 'Who composed Aida?' },
  { id: '407', title: 'spinning jenny', question: 'Who invented the spinning jenny?' },
]
const MOST_QUESTIONS = 3

/**
 * Describes the corpus by the settings, else by some titles, read once per version of the table.
 * @returns a function of the index's version, or of another index's, which is not cached
 * @param index source of titles; none are shown if it cannot be read
 */
export function corpusTexts(settings: PageSettings, index: Pick<PassageIndex, 'titles' | 'get'>) {
  let made: { readonly of: string; readonly text: ReturnType<typeof describe> } | undefined
  return (version: { readonly passages: number } | null, other?: Pick<PassageIndex, 'titles' | 'get'>) => {
    if (other !== undefined) return describe(settings, other, version)
    const of = JSON.stringify(version)
    if (made?.of !== of) made = { of, text: describe(settings, index, version) }
    return made.text
  }
}

async function describe(
  { PAGE_TITLE: title, PAGE_ABOUT: about, PAGE_QUESTIONS: questions }: PageSettings,
  index: Pick<PassageIndex, 'titles' | 'get'>,
  version: { readonly passages: number } | null,
) {
  const given = questions.split(';').flatMap((one) => one.trim() || [])
  const titles = version === null || (about !== '' && given.length > 0) ? [] : await someTitles(index)
  const asked =
    given.length > 0 || version === null
      ? given
      : [...(await demoQuestions(index)), ...titles.map((title) => `What is said about ${title}?`)]
  return { title, about: about || aboutPassages(version?.passages ?? 0, titles), questions: asked.slice(0, MOST_QUESTIONS) }
}

async function demoQuestions(index: Pick<PassageIndex, 'get'>): Promise<string[]> {
  const found = await Promise.all(DEMO.map(({ id }) => index.get(id).catch(() => undefined)))
  return DEMO.filter(({ title }, i) => found[i]?.title === title).map(({ question }) => question)
}
