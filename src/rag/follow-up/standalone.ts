import type { Turn } from '../../text/chat-template.ts'
import { LIMITS } from '../limits.ts'
import { isNoAnswer } from '../no-answer/words.ts'
import { isSmallTalk } from '../no-answer/small-talk.ts'
import type { ChatQuestion } from '../schema.ts'

/** Closed classes of English words, as patterns for the rules of follow-up questions. */

const QUESTION_WORD = String.raw`(?:who|whom|whose|what|which|when|where|why|how)`
const AUXILIARY = String.raw`(?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|should|may)`
const PREPOSITION = String.raw`(?:of|in|for|by|from|on|at|to|with|about|during|after|before|under|near)`

/** Final verbs of questions about an entity: `when was the tower [built]`, `where does the river [end]`. */
const VERB_TAIL = String.raw`(?:\w+ed|born|built|written|made|held|won|found|sung|shot|known|fought|begun|sunk|drawn|sold|spoken|grown|taken|given|take place|die|begin|start|end|open|happen|live|win|write|play|invent|discover|become|come|go|get|mean|cost|weigh)(?: (?:from|in|at|to|on|by|for|with|up|out))?`

/** Relational nouns: `the population` is not an entity that could replace another. */
const RELATION = String.raw`(?:capital|population|president|king|queen|leader|mayor|governor|prime minister|chancellor|language|currency|area|size|flag|anthem|author|writer|director|composer|painter|architect|inventor|founder|owner|ceo|height|length|depth|width|weight|age|date|year|place|name|birthplace|nationality|wife|husband|mother|father|brother|sister|son|daughter|children|parents|religion|climate|history|elevation|area code|time zone|largest city|highest mountain|longest river|national animal|official language)`

const CAPITALISED = /\p{Lu}[\p{L}\p{M}\p{N}'’.-]*(?:\s+(?:(?:of|the|de|da|di|von|van|la|le|and)\s+)*\p{Lu}[\p{L}\p{M}\p{N}'’.-]*)*/gu
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

/** Where the entity of a question is: a name if it has one, else by its form; undefined for unknown forms. */
function entityOf(question: string) {
  const text = question.replace(PLAIN_END, '')
  return nameIn(text) ?? subjectIn(text) ?? match(OBJECT, text) ?? match(DIRECT, text)
}

/** Where the last run of capitalised words is, except the first word of the question, unless all words are capitalised. */
function nameIn(text: string) {
  if (!/\p{Ll}/u.test(text)) return undefined
  const names = Array.from(text.matchAll(CAPITALISED), ({ 0: name, index }) => ({ start: index, end: index + name.length }))
  const last = names.filter(({ start }) => start > 0).at(-1)
  if (last === undefined) return undefined
  const article = /\bthe\s+$/i.exec(text.slice(0, last.start))?.[0] ?? ''
  return { start: last.start - article.length, end: last.end }
}

function subjectIn(text: string) {
  const subject = FRAME.exec(text)?.[1]
  if (subject === undefined) return undefined
  const start = text.length - subject.length
  return { start, end: start + subject.replace(TAIL, '').length }
}

function match(form: RegExp, text: string) {
  const [, before, object] = form.exec(text) ?? []
  return before === undefined || object === undefined ? undefined : { start: before.length, end: text.length }
}

interface Exchange {
  readonly question: string
  readonly answer: string
}

const LEADER = /^(?:(?:and|but|so|then|now|also|ok|okay|or|well)[, ]+)*(?:(?:what|how) about\s+)?/i
const FRAGMENT = new RegExp(`^(?:(${PREPOSITION})\\s+)?(.+)$`, 'i')
const COMPLETE = new RegExp(`\\b(?:${QUESTION_WORD}|${AUXILIARY})\\b`, 'i')
const RELATION_ALONE = new RegExp(`^(?:the|its|his|her|their)\\s+${RELATION}$`, 'i')
const ASKED_RELATION = new RegExp(`^(${QUESTION_WORD}\\s+${AUXILIARY}\\s+)(?:the\\s+)?(.+?)(\\s+(?:of|in)\\s+.+)$`, 'i')
const OPEN_RELATION = new RegExp(`^${QUESTION_WORD}\\s+${AUXILIARY}\\s+the\\s+${RELATION}$`, 'i')
const POSSESSIVE = `its|his|their|her(?=\\s+(?!${PREPOSITION}\\b)\\w)`
const PRONOUN = new RegExp(`\\b(?:(${POSSESSIVE})|(he|him|she|her|hers)|it|they|them|there|this one|that one)\\b`, 'gi')
const OWN_NAME = String.raw` (?:${AUXILIARY} an? \p{L}|(?!I\b)\p{Lu})`
/** A question around a pronoun, marked by `<`, that refers to nothing before the question. */
const OWN_PRONOUN = new RegExp(
  [
    // In a title.
    String.raw`^(?=.* \p{Ll}).* <\p{Lu}|^[^"“”]*(?:["“][^"“”]*["”][^"“”]*)*["“][^"“”]*<`,
    // Of no thing.
    String.raw`time is <it\b|<it (?:takes?|true|possible|necessary) (?:\w+ )?(?:to|that)\b|far is <it from .+ to `,
    // Of a clause, a name or a subject before it.
    String.raw`^\S+ \S+ .*\b(?:and|but) .*<`,
    // From the first name: trying each of them takes cubic time.
    String.raw`^(?=(?<upTo>.*?${OWN_NAME}))\k<upTo>.*(?: (?:when|while|before|after|because|since|until|if|that) .*<| \p{Ll}.* <(?:his|her|its|their)\b)`,
    String.raw`^(?:[Ww]hich|[Ww]hat) \w+ (?!of |${AUXILIARY} )\w+ <(?:his|her|its|their)\b`,
    String.raw`\b(?:do|did|are|were|have|can) \w+s .*<their\b`,
  ].join('|'),
  'u',
)
/** Characters on either side of a pronoun that decide what it refers to. */
const PRONOUN_CONTEXT = 200
/** `who was napoleon` names the person, and is answered by what he was. */
const NAMED_PERSON = /^(?:and\s+)?who (?:is|was) (?!.*(?:\b(?:the|of|in|at|on)\b|['’]s))/i
/** Messages considered: longer chains of follow-ups are rare, and each takes time. */
const MOST_TURNS = 20
/** Words of a fragment; a longer text is a sentence. */
const MOST_WORDS = 6
/** Words of an answer that a pronoun may refer to, and its characters: trimming a run of spaces takes quadratic time. */
const MOST_ANSWER = { words: 8, characters: 1000 } as const
/** Pronouns of a follow-up; a longer text refers to itself, and each takes time. */
const MOST_PRONOUNS = 20

/**
 * Rewrites a follow-up as a standalone question: `And of Germany?` after `What is the capital of France?` becomes `What is the capital of
 * Germany?`. Rule-based, for English: omitted parts and pronouns are resolved from the previous turn. Other questions stay unchanged.
 * @param earlier messages before it, oldest first
 */
export function standaloneQuestion(question: string, earlier: readonly Turn[]): string {
  let last: Exchange | undefined
  const recent = earlier.slice(-MOST_TURNS)
  for (const [i, { role, content }] of recent.entries()) {
    // A longer text was pasted, not asked.
    if (role !== 'user' || content.length > LIMITS.questionCharacters || isSmallTalk(content)) continue
    const next = recent[i + 1]
    const answer = next?.role === 'assistant' ? saidIn(next.content).normalize() : ''
    last = { question: resolved(content.trim().normalize(), last), answer: isNoAnswer(answer) ? '' : shortAnswer(answer) }
  }
  return resolved(question.normalize(), last)
}

/** A question that follows others, made to stand alone, with the messages before it. */
export function withTurns({ earlier = [], ...request }: ChatQuestion): ChatQuestion {
  if (earlier.length === 0) return request
  const turns = earlier.flatMap(({ question, answer }): Turn[] => [
    { role: 'user', content: question },
    ...(answer ? [{ role: 'assistant' as const, content: answer }] : []),
  ])
  return { ...request, question: standaloneQuestion(request.question, turns), turns }
}

/** An answer without the list of sources that this service may have appended. */
export function saidIn(message: string): string {
  return message.replace(/\n\nSources:\n(?:\[\d+\] .*(?:\n|$))+$/, '').trim()
}

function shortAnswer(answer: string): string {
  const [line = ''] = answer.split('\n', 1)
  const plain = line.length > MOST_ANSWER.characters ? '' : line.replace(/[\s.!]+$/, '')
  return plain.split(/\s+/).length > MOST_ANSWER.words ? '' : plain
}

function resolved(question: string, last: Exchange | undefined): string {
  if (last === undefined || isSmallTalk(question)) return question
  const plain = singleSpaced(question)
  const before = { ...last, question: singleSpaced(last.question) }
  const asked = filledIn(plain, before) ?? withoutPronouns(plain, before) ?? question
  return asked.length > LIMITS.questionCharacters ? question : asked
}

/** Collapses spaces: patterns take quadratic time in a run of them. */
function singleSpaced(text: string): string {
  return text.trim().replace(/\s+/g, ' ')
}

/** Inserts a fragment into the previous question; undefined if it is not a fragment. */
function filledIn(question: string, { question: before }: Exchange): string | undefined {
  const leader = LEADER.exec(question)?.[0] ?? ''
  const text = question.slice(leader.length).replace(/[\s?!.]+$/, '')
  const words = text.split(/\s+/).length
  const [, preposition, name] = FRAGMENT.exec(text) ?? []
  if (name === undefined || words > MOST_WORDS) return undefined
  const entity = entityOf(before)
  if (OPEN_RELATION.test(text) && entity) return `${capital(text, question)} of ${before.slice(entity.start, entity.end)}?`
  if (COMPLETE.test(text)) return undefined
  // Without a leading conjunction, few words are a complete question, unless marked as a fragment or incomplete.
  if (leader === '' && preposition === undefined && !(words <= 3 && question.trimEnd().endsWith('?'))) return undefined
  if (RELATION_ALONE.test(text)) {
    const relation = ASKED_RELATION.exec(before)
    if (relation) return `${relation[1]}the ${text.replace(/^\S+\s+/, '')}${relation[3]}`
    return entity && /^the\s/i.test(text) ? `${text} of ${before.slice(entity.start, entity.end)}?` : undefined
  }
  return (
    (preposition && afterPreposition(before, preposition, name)) ??
    (entity && before.slice(0, entity.start) + name + before.slice(entity.end))
  )
}

/** Replaces the object of a preposition in the question; adds a time, and what a question without such objects has no place for. */
function afterPreposition(before: string, preposition: string, name: string): string | undefined {
  const form = new RegExp(`^(.*\\s${preposition}\\s+)(?!${QUESTION_WORD}\\b)([^?!]+?)((?:\\s+${PREPOSITION}\\s+[^?!]+)?[?!.\\s]*)$`, 'i')
  const [, front, , end] = form.exec(before) ?? []
  if (front !== undefined && end !== undefined) return `${front}${name}${end}`
  if (!/\b\d{4}s?\b/.test(name) && OBJECT.test(before)) return undefined
  return before.replace(/[\s?!.]*$/, (end) => ` ${preposition} ${name}${end}`)
}

/** Resolves the pronouns of a question; undefined if it has none, or no antecedent is known. */
function withoutPronouns(question: string, { question: before, answer }: Exchange): string | undefined {
  if (Array.from(question.matchAll(PRONOUN)).length > MOST_PRONOUNS) return undefined
  const span = entityOf(before)
  const entity = span === undefined ? '' : before.slice(span.start, span.end)
  const isOfPerson = /^(?:and\s+)?who(?:m|se)?\b/i.test(before) && !NAMED_PERSON.test(before)
  const isOfPlace = /^(?:in |from |at )?(?:where|which (?:city|country|town)|what (?:city|country|town))\b/i.test(before)
  const person = isOfPerson && answer !== '' ? answer : entity
  const thing =
    /^(?:what|which)\b/i.test(before) && !/^what (?:year|day|time|date)/i.test(before) && /^[^\d$€£-]/.test(answer) ? answer : entity
  const place = (isOfPlace && answer !== '' ? answer : undefined) ?? thing
  const text = question.slice(LEADER.exec(question)?.[0].length ?? 0)
  const named = text.replace(PRONOUN, (word: string, possessive: string | undefined, personal: string | undefined, at: number) => {
    if (refersWithin(text, at)) return word
    if (possessive) return (/^hi|^her/i.test(word) ? person && `${person}'s` : thing && `${thing}'s`) || word
    if (personal) return person || word
    return word.toLowerCase() === 'there' ? inPlace(text, word, place) : thing || word
  })
  return named === text ? undefined : capital(named, question)
}

/** Whether the pronoun at a place in a question refers to a word of the question, or is part of a title. */
function refersWithin(question: string, at: number): boolean {
  return OWN_PRONOUN.test(`${question.slice(Math.max(0, at - PRONOUN_CONTEXT), at)}<${question.slice(at, at + PRONOUN_CONTEXT)}`)
}

/** `is there` is existential; `live there` refers to a place. */
function inPlace(text: string, word: string, place: string): string {
  return place === '' || new RegExp(`(?:${AUXILIARY}\\s+there|\\bthere\\s+${AUXILIARY})\\b`, 'i').test(text) ? word : `in ${place}`
}

/** Capitalises the first letter if the original had one. */
function capital(text: string, whole: string): string {
  return /^\p{Lu}/u.test(whole) ? text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase()) : text
}
