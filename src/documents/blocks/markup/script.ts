/** Letters that end a word in superscript: 2nd, 3e, 1a. */
const ORDINAL = /^(?:\p{L}{2,}|[eaod\u00aa\u00ba])$/u
/** Where the number of a note is: after punctuation, or a word that is no unit. */
const NOTED = /(?:[.,;:!?"\u201d)\]]|\p{L}{4,})$/u

/** The text of a superscript: "^6" in 10^6, "nd" in 2nd, "[1]" of a note. @param before the text before it */
export function raisedText(text: string, before: string, isNote = NOTED.test(before.slice(-8))): string {
  if (text === '' || before === '' || /\s$/.test(before)) return text
  if (/^TM$/i.test(text)) return '\u2122'
  if (/^\d+$/.test(text) && isNote) return `[${text}]`
  if (ORDINAL.test(text) || !/^[-+\u2212\p{L}\p{N}]/u.test(text)) return text
  return /^[-+\u2212]?(?:\p{L}|[\d.,]+)$/u.test(text) ? `^${text}` : `^(${text})`
}
