import { byId, element, fieldForm } from './dom.js'
import { address } from './views.js'

const MOST_SENT = 20
const MOST_SHOWN = 5
/** The turns before the answer that is shown, oldest first, and that answer. */
let turns = []
let last
let form

/** The turns before a follow-up, as the service takes them. */
export const earlier = () => turns.slice(-MOST_SENT).map(({ question, answer }) => ({ question, answer }))

/** Where what is wrong with a follow-up is told. */
export const followProblem = () => form.problem

/** Forgets the earlier turns: the next question stands alone. */
export function startAnew() {
  turns = []
  last = undefined
  form.hidden = true
  form.input.value = ''
  showTurns()
}

/** What a follow-up is about now. @param {{question: string, answer: string | null, shown: string}} turn undefined of a document */
export function answeredWith(turn) {
  last = turn
  byId('follow').hidden = turn === undefined || !form.hidden
  form.hidden ||= turn === undefined
  form.input.value = ''
}

/** The answer that is shown becomes an earlier turn. */
export function beginFollow() {
  if (last) turns.push(last)
  last = undefined
  showTurns()
}

function showTurns() {
  const shown = turns.slice(-MOST_SHOWN)
  byId('turns').hidden = shown.length === 0
  byId('turns').replaceChildren(
    ...shown.map((turn) => element('li', {}, element('a', { href: address({ q: turn.question }) }, turn.question), ` ${turn.shown}`)),
  )
}

/** @param {(text: string) => void} ask asks a follow-up */
export function watchFollow(ask) {
  form = fieldForm({
    label: 'Follow-up',
    action: 'Ask',
    maxLength: 4096,
    enterKeyHint: 'search',
    onsubmit: (text) => (text === '' ? form.input.focus() : ask(text)),
  })
  byId('follow-up').replaceWith(form)
  form.hidden = true
  const toggle = (open) => {
    form.hidden = !open
    byId('follow').hidden = open
    ;(open ? form.input : byId('follow')).focus()
  }
  byId('follow').addEventListener('click', () => toggle(true))
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || turns.length > 0 || last === undefined) return
    event.stopPropagation()
    toggle(false)
  })
}
