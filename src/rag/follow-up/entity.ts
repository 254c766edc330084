import type { Span } from '../../text/sentences.ts'
import { AUXILIARY, PREPOSITION, QUESTION_WORD, VERB_TAIL } from './vocabulary.ts'

const CAPITALISED = /\p{Lu}[\p{L}\p{N}'’.-]*(?:\s+(?:(?:of|the|de|da|di|von|van|la|le|and)\s+)*\p{Lu}[\p{L}\p{N}'’.-]*)*/gu
const PLAIN_END = /[\s?!.]+$/
/** `when was the tower built`, `how tall is the tower`, `in what year did the war end`: subject and predicate. */
const FRAME = new RegExp(
  `^(?:${PREPOSITION} )?(?:when|where|why|how(?: \\w+){0,2}|(?:what|which)(?: year| day| month| century| country| city)) ${AUXILIARY} (.+)$`,
  'i',
)
const TAIL = new RegExp(`\\s+${VERB_TAIL}$`, 'i')
/** `what is the capital of france`, `who won the cup in 1998`: the object of the last preposition. */
const OBJECT = new RegExp(`^(.*\\s${PREPOSITION}\\s+)(?!${QUESTION_WORD}\\b)(.+)$`, 'i')
/** `who wrote hamlet`, `who is the queen`. */
const DIRECT = new RegExp(`^(${QUESTION_WORD}\\s+\\w+\\s+)(.+)$`, 'i')

/** The entity of a question: a name if it has one, else by its form; undefined for unknown forms. */
export function entityOf(question: string): Span | undefined {
  const end = question.length - (PLAIN_END.exec(question)?.[0].length ?? 0)
  const text = question.slice(0, end)
  return nameIn(text) ?? subjectIn(text) ?? match(OBJECT, text) ?? match(DIRECT, text)
}

/** The last run of capitalised words, except the first word of the question, unless all words are capitalised. */
function nameIn(text: string): Span | undefined {
  if (!/\p{Ll}/u.test(text)) return undefined
  const names = Array.from(text.matchAll(CAPITALISED), ({ 0: name, index }) => ({ start: index, end: index + name.length }))
  const last = names.filter(({ start }) => start > 0).at(-1)
  if (last === undefined) return undefined
  const article = /\bthe\s+$/i.exec(text.slice(0, last.start))?.[0] ?? ''
  return { start: last.start - article.length, end: last.end }
}

function subjectIn(text: string): Span | undefined {
  const subject = FRAME.exec(text)?.[1]
  if (subject === undefined) return undefined
  const start = text.length - subject.length
  const name = subject.replace(TAIL, '')
  return { start, end: start + name.length }
}

function match(form: RegExp, text: string): Span | undefined {
  const [, before, object] = form.exec(text) ?? []
  return before === undefined || object === undefined ? undefined : { start: before.length, end: text.length }
}
