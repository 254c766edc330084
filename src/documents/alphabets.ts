/** Letters of languages beyond those of English, in lower case. */
const ALPHABETS = [
  'àâæçèéêëîïôœùûüÿ',
  'äöüßé',
  'áéíñóúüªº',
  'áàâãçéêíóôõúª',
  'àèéìíîòóùú',
  'åäöæøéü',
  'áðéíóúýþæö',
  'àçèéíïòóúü·',
  'çğıöşüâîûi\u0307',
  'ąćęłńóśźż',
  'áäčďéěíĺľňóôŕřšťúůýž',
  'áéíóöőúüű',
  'ăâîşţșț',
  'čćđšž',
  'ąčęėįšųūž',
  'āčēģīķļņšūž',
  'äöõüšž',
  'а-яёѣѐѝђјљњћџѓѕќ',
  'а-щьюяіїєґў',
  'α-ωάέήίόύώϊϋΐΰ',
  'א-ת\u05b0-\u05c7',
  '\u0600-\u06ff',
  '\u0e00-\u0e7f',
].map((letters) => new RegExp(`[${letters}]`, 'u'))
/** A letter beyond ASCII, a control character, or another sign within a word; what is before and after it. */
const LETTER =
  /(?<=(.?))(?:(?![\0-\u007f])[\p{L}\u0080-\u009f]|(?<=\p{L})[^\0-\u007f\p{L}\p{M}\u00ad\u2010-\u201f\u00a0\u00b4\u00b7](?=\p{L}))(?=(.?))/gsu

/**
 * The share of a text's letters beyond ASCII that a language has where it has them: in a wrong encoding letters are of several languages
 * or scripts, capitals stand within words, or signs do. Undefined without such letters.
 */
export function shareOfLetters(text: string): number | undefined {
  let all = 0
  const counts = new Map<string, number>()
  for (const [letter, before = '', after = ''] of text.matchAll(LETTER)) {
    all++
    const small = letter.toLowerCase()
    const isMixed = /[a-z]/i.test(before + after) && !/\p{sc=Latin}/u.test(letter)
    if (!isMixed && (small === letter || !/\p{Ll}/u.test(before))) counts.set(small, (counts.get(small) ?? 0) + 1)
  }
  const shares = ALPHABETS.map((alphabet) => [...counts].reduce((sum, [letter, count]) => sum + (alphabet.test(letter) ? count : 0), 0))
  return all === 0 ? undefined : Math.max(...shares) / all
}
