import { fMeasure, sharedCount } from './answer.ts'

/** Words up to this length are not stemmed. */
const UNSTEMMED_LENGTH = 3

function words(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) => (word.length <= UNSTEMMED_LENGTH ? word : stemOf(word)))
}

/**
 * ROUGE-L F of rouge_score (the metric of SCROLLS): lower case, everything but a-z and 0-9 a space, stems of words of more
 * than three letters, longest common subsequence. 0 where either side has no words.
 */
export function rougeL(prediction: string, reference: string): number {
  const [predicted, wanted] = [words(prediction), words(reference)]
  return fMeasure(longestCommonSubsequence(predicted, wanted), predicted, wanted)
}

/** ROUGE-N F of rouge_score: sequences of `n` words that both sides have, each as often as the side with fewer. */
export function rougeN(n: number, prediction: string, reference: string): number {
  const grams = (text: string) => words(text).flatMap((_, i, all) => (i + n > all.length ? [] : [all.slice(i, i + n).join(' ')]))
  const [predicted, wanted] = [grams(prediction), grams(reference)]
  return fMeasure(sharedCount(predicted, wanted), predicted, wanted)
}

function longestCommonSubsequence(a: readonly string[], b: readonly string[]): number {
  let previous = new Uint32Array(b.length + 1)
  for (const word of a) {
    const current = new Uint32Array(b.length + 1)
    for (let j = 1; j <= b.length; j++)
      current[j] = word === b[j - 1] ? (previous[j - 1] as number) + 1 : Math.max(previous[j] as number, current[j - 1] as number)
    previous = current
  }
  return previous[b.length] as number
}

/*
 * Porter's stemmer (1980) as NLTK's PorterStemmer has it by default, which rouge_score uses: words known by heart, and some
 * rules that differ from Porter's (marked NLTK).
 */

/** NLTK: irregular words. */
const KNOWN: ReadonlyMap<string, string> = new Map([
  ...rules('skies sky, dying die, lying lie, tying tie, innings inning, outings outing, cannings canning'),
  ...['sky', 'news', 'inning', 'outing', 'canning', 'howe', 'proceed', 'exceed', 'succeed'].map((word): Rule => [word, word]),
])

/** The word as c and v: a y after a consonant is a vowel. */
function shapeOf(word: string): string {
  let shape = ''
  for (const letter of word) shape += 'aeiou'.includes(letter) || (letter === 'y' && shape.endsWith('c')) ? 'v' : 'c'
  return shape
}

/** Porter's m: the number of vowel-consonant sequences. */
function measure(word: string): number {
  return shapeOf(word).match(/vc/g)?.length ?? 0
}

/** Porter's *o: ends in consonant, vowel, consonant, the last not w, x or y; NLTK: also a word of vowel and consonant. */
function endsShort(word: string): boolean {
  const shape = shapeOf(word)
  return (shape.endsWith('cvc') && !/[wxy]$/.test(word)) || shape === 'vc'
}

type Rule = readonly [suffix: string, replacement: string]

/** `ies i, s`: a suffix, or a word, and its replacement, or nothing. */
function rules(text: string): Rule[] {
  return text.split(', ').map((rule): Rule => {
    const [suffix = '', replacement = ''] = rule.split(' ')
    return [suffix, replacement]
  })
}

/** Applies the first rule with a matching suffix and condition; otherwise returns the word. */
function replaced(word: string, rules: readonly Rule[], condition: (stem: string, suffix: string) => boolean): string {
  const rule = rules.find(([suffix]) => word.endsWith(suffix))
  if (rule === undefined) return word
  const stem = word.slice(0, word.length - rule[0].length)
  return condition(stem, rule[0]) ? stem + rule[1] : word
}

function plural(word: string): string {
  // NLTK: dies, ties.
  if (word.length === 4 && word.endsWith('ies')) return word.slice(0, -1)
  return replaced(word, rules('sses ss, ies i, ss ss, s'), () => true)
}

function participle(word: string): string {
  // NLTK: died, tried.
  if (word.endsWith('ied')) return word.slice(0, word.length === 4 ? -1 : -2)
  if (word.endsWith('eed')) return replaced(word, [['eed', 'ee']], (stem) => measure(stem) > 0)
  const [, stem] = /^(.*)(?:ed|ing)$/.exec(word) ?? []
  if (stem === undefined || !shapeOf(stem).includes('v')) return word
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`
  if (stem.at(-1) === stem.at(-2) && shapeOf(stem).endsWith('c')) return /[lsz]$/.test(stem) ? stem : stem.slice(0, -1)
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem
}

const DOUBLE_SUFFIXES = rules(
  'ational ate, tional tion, enci ence, anci ance, izer ize, bli ble, alli al, entli ent, eli e, ousli ous, ization ize, ation ate, ator ate, alism al, iveness ive, fulness ful, ousness ous, aliti al, iviti ive, biliti ble, fulli ful, logi log',
)

function doubleSuffix(word: string): string {
  // NLTK: the result of alli is processed again (rationally).
  if (word.endsWith('alli') && measure(word.slice(0, -4)) > 0) return doubleSuffix(word.slice(0, -2))
  // NLTK: the l of logi counts with the stem (geology).
  return replaced(word, DOUBLE_SUFFIXES, (stem, suffix) => measure(suffix === 'logi' ? `${stem}l` : stem) > 0)
}

const SINGLE_SUFFIXES = rules('icate ic, ative, alize al, iciti ic, ical ic, ful, ness')

const DROPPED = rules('al, ance, ence, er, ic, able, ible, ant, ement, ment, ent, ion, ou, ism, ate, iti, ous, ive, ize')

function finalLetters(word: string): string {
  const bare = replaced(word, [['e', '']], (stem) => measure(stem) > 1 || (measure(stem) === 1 && !endsShort(stem)))
  return replaced(bare, [['ll', 'l']], (stem) => measure(`${stem}l`) > 1)
}

/** The stem of a word in lower case. */
export function stemOf(word: string): string {
  const known = KNOWN.get(word)
  if (known !== undefined) return known
  if (word.length <= 2) return word
  // NLTK: only after a consonant that is not the first letter (enjoy, by).
  const isAfterConsonant = (stem: string): boolean => stem.length > 1 && shapeOf(stem).endsWith('c')
  const base = doubleSuffix(replaced(participle(plural(word)), [['y', 'i']], isAfterConsonant))
  const single = replaced(base, SINGLE_SUFFIXES, (stem) => measure(stem) > 0)
  const dropped = replaced(single, DROPPED, (stem, suffix) => measure(stem) > 1 && (suffix !== 'ion' || /[st]$/.test(stem)))
  return finalLetters(dropped)
}
