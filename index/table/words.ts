import { WORD_LANGUAGES, type WordLanguage } from '../word-languages.ts'
import { stringsIn, TEXT_COLUMNS } from './rows.ts'
import { textIndexConfig, writing, type Table } from './lance.ts'
import { sampleRows } from './sample.ts'

/**
 * Languages whose words are reduced to stems, by ISO 639-1 code, with LanceDB's name and the ISO 639-3 codes that detection gives. Languages
 * that detection confuses with one of them (Scots) count as it.
 */
const STEMMED: Readonly<Record<Exclude<WordLanguage, 'none'>, { readonly name: string; readonly detected: readonly string[] }>> = {
  ar: { name: 'Arabic', detected: ['arb'] },
  da: { name: 'Danish', detected: ['dan'] },
  de: { name: 'German', detected: ['deu', 'nds'] },
  el: { name: 'Greek', detected: ['ell'] },
  en: { name: 'English', detected: ['eng', 'sco'] },
  es: { name: 'Spanish', detected: ['spa'] },
  fi: { name: 'Finnish', detected: ['fin'] },
  fr: { name: 'French', detected: ['fra'] },
  hu: { name: 'Hungarian', detected: ['hun'] },
  it: { name: 'Italian', detected: ['ita'] },
  nl: { name: 'Dutch', detected: ['nld'] },
  no: { name: 'Norwegian', detected: ['nob', 'nno'] },
  pt: { name: 'Portuguese', detected: ['por'] },
  ro: { name: 'Romanian', detected: ['ron'] },
  ru: { name: 'Russian', detected: ['rus'] },
  sv: { name: 'Swedish', detected: ['swe'] },
  ta: { name: 'Tamil', detected: ['tam'] },
  tr: { name: 'Turkish', detected: ['tur'] },
}

/** How the word index of a table was built, and the language chosen for it, in the metadata of the column `text`. */
const WORDS_KEY = 'cepe:words'
const LANGUAGE_KEY = 'cepe:language'
/** Changed when texts are divided into words in another way: indexes of before are built anew by the next job or `cepe migrate`. */
const TOKENS = 'icu-1'

const SAMPLE = 128
const SAMPLED_CHARACTERS = 600
/** Shorter texts are judged together: a sentence alone is often taken for one of a related language. */
const JUDGED_CHARACTERS = 300
/** Share of the sampled texts that must be in one language. */
const LEAST_SHARE = 0.6

/** @returns `language`: of the stems; undefined if earlier software built them. `chosen`: by the operator; undefined if detected */
export async function readWordIndex(table: Table) {
  const metadata = (await table.schema()).fields.find(({ name }) => name === 'text')?.metadata
  const [tokens, language] = metadata?.get(WORDS_KEY)?.split(' ') ?? []
  return { language: tokens === TOKENS ? known(language) : undefined, chosen: known(metadata?.get(LANGUAGE_KEY)) }
}

function known(language: string | undefined): WordLanguage | undefined {
  return WORD_LANGUAGES.find((one) => one === language)
}

/** Whether the word index has to be built anew: it is of earlier software, or of another language than the chosen one. */
export async function isWordIndexOutdated(table: Table): Promise<boolean> {
  const { language, chosen } = await readWordIndex(table)
  return language === undefined || (chosen !== undefined && chosen !== language)
}

/** LanceDB's default name of a column's index. */
export function indexName(column: string): string {
  return `${column}_idx`
}

/** Whether the words of every row are indexed. */
export async function areWordsIndexed(table: Table): Promise<boolean> {
  const left = new Map((await table.listIndices()).map(({ name, numUnindexedRows }) => [name, numUnindexedRows]))
  return TEXT_COLUMNS.every((column) => left.get(indexName(column)) === 0)
}

/** Sets the language of a new table's word index. */
export function chooseLanguage(table: Table, language: WordLanguage): Promise<unknown> {
  return writing(table, () => table.updateFieldMetadata([{ path: 'text', metadata: { [LANGUAGE_KEY]: language } }]))
}

/**
 * Builds the word indexes of a table anew: in the chosen language, else in the one that most of its texts are in, else without stems. Reads
 * two columns; vectors stay. Searches continue with the earlier index until it is done.
 */
export async function indexWords(table: Table): Promise<void> {
  const language = (await readWordIndex(table)).chosen ?? (await languageOf(table))
  const stems = language === 'none' ? undefined : STEMMED[language].name
  for (const column of TEXT_COLUMNS) await writing(table, () => table.createIndex(column, { config: textIndexConfig(stems) }))
  await writing(table, () => table.updateFieldMetadata([{ path: 'text', metadata: { [WORDS_KEY]: `${TOKENS} ${language}` } }]))
}

/** The language of most of a table's texts, judged by a sample. */
async function languageOf(table: Table): Promise<WordLanguage> {
  const taken = await sampleRows(table, SAMPLE, ['text'])
  if (taken.numRows === 0) return 'none'
  const { franc } = await import('franc')
  const votes: string[] = []
  let pending = ''
  for (const [row, text] of stringsIn(taken, 'text').entries()) {
    pending += ` ${text.slice(0, SAMPLED_CHARACTERS)}`
    if (pending.length < JUDGED_CHARACTERS && row < taken.numRows - 1) continue
    votes.push(franc(pending))
    pending = ''
  }
  const shareOf = (codes: readonly string[]) => votes.filter((code) => codes.includes(code)).length / votes.length
  return WORD_LANGUAGES.find((language) => language !== 'none' && shareOf(STEMMED[language].detected) >= LEAST_SHARE) ?? 'none'
}
