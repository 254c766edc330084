import { answerTo } from './api.js'
import { aimAt, isOwn, onlySource, showEmpty, showPicker, showTarget, watchTarget } from './about.js'
import { choose, collection } from './collections.js'
import { askDocument } from './document.js'
import { announce, byId } from './dom.js'
import { answeredWith, beginFollow, earlier, followProblem, startAnew, watchFollow } from './follow.js'
import { forgetAll, lastRemembered, remember, showHistory } from './history.js'
import { showProblem, stopTrying } from './problem.js'
import { asText, foundWords, showAnswer, showEvidence, showWords } from './result.js'
import { copy } from './share.js'
import { address, go, push, setTitle } from './views.js'

const form = byId('ask')
const question = byId('question')
const problem = byId('problem')
const NUMBERS = ['k', 'k_decoder', 'min_confidence']
/** The question under way, the text that is copied of the last answer, and its address. */
let running
let shown
let answeredAt

/** The fields of the request that were filled in. */
function options() {
  const { mode, method } = form.elements
  const numbers = NUMBERS.filter((field) => form.elements[field].value !== '')
  return {
    ...Object.fromEntries(numbers.map((field) => [field, Number(form.elements[field].value)])),
    ...(mode.value && { mode: mode.value }),
    ...(method.value && { method: method.value }),
  }
}

/** Asks a question that is not typed: an example, a link, one of the history. */
function askCorpus(text) {
  form.elements.target.value = 'corpus'
  showTarget()
  question.value = text
  return askAnew()
}

/** Asks what stands in the field, apart from what was asked before. */
function askAnew() {
  const text = question.value.trim()
  if (text === '') return undefined
  startAnew()
  return ask(text)
}

/** @param {boolean} follow whether it is asked under an answer, of which it may speak */
async function ask(text, follow = false) {
  running?.abort()
  const mine = (running = new AbortController())
  const own = !follow && isOwn()
  const box = follow ? followProblem() : problem
  let streamed = false
  const show = {
    onEvidence: (data) => {
      streamed = true
      announce(foundWords(data.evidence))
      showEvidence(data.evidence)
    },
    onText: showWords,
  }
  try {
    begin(text, { own, follow })
    const asked = { question: text, collection: collection(), ...(onlySource() && { filter: { source: onlySource() } }), ...options() }
    const body = follow ? { ...asked, earlier: earlier() } : asked
    const result = own ? await askDocument(text, mine.signal) : await answerTo(body, mine.signal, show)
    finish(text, result, { own, follow, streamed })
    box.tries = 0
  } catch (error) {
    fail(error, { box, isLast: running === mine, again: () => void ask(text, follow) })
  } finally {
    if (running === mine) end()
  }
}

/** What is shown below is of this question, or nothing is. */
function begin(text, { own, follow }) {
  showProblem(problem)
  showProblem(followProblem())
  answeredAt = undefined
  document.body.classList.add('asked')
  showTarget()
  if (follow) beginFollow()
  else byId('result').hidden = true
  byId('said').hidden = byId('below').hidden = true
  if (!own && !follow) push({ q: text, source: onlySource() })
  if (!follow) setTitle(text)
  // The keyboard of a phone covers the answer.
  if (matchMedia('(pointer: coarse)').matches) document.activeElement?.blur()
  form.scrollIntoView({ block: 'nearest' })
  byId('go').textContent = 'Asking…'
  announce('Asking.')
  byId('result').setAttribute('aria-busy', 'true')
}

function finish(text, result, { own, follow, streamed }) {
  // A follow-up that stands alone is what others find under its address.
  const searched = result.question ?? text
  if (follow) {
    push({ q: searched, source: onlySource() })
    question.value = searched
    setTitle(searched)
  }
  const said = showAnswer({ ...result, question: searched }, { streamed, searched: follow && searched !== text ? searched : undefined })
  shown = asText(searched, said, result)
  if (!own) answeredAt = location.href
  answeredWith(own ? undefined : { question: searched, answer: result.answer ?? null, shown: said })
  announce([`Answer: ${said}.`, byId('sure').textContent, result.extract?.text ?? ''].join(' '))
  if (follow) return
  remember(text)
  showHistory(askRemembered)
}

function fail(error, { box, isLast, again }) {
  if (error.code === 'index_missing') showEmpty(true)
  else if (error.name !== 'AbortError') showProblem(box, error, again, 'Your question is kept.')
  else if (isLast) showProblem(box, new Error('Cancelled.'))
  if (isLast) announce('')
}

function end() {
  running = undefined
  byId('go').textContent = 'Ask'
  byId('result').removeAttribute('aria-busy')
}

function askRemembered(entry) {
  choose(entry.collection)
  showPicker()
  aimAt()
  void askCorpus(entry.question)
}

/** Ends the question under way, and asking again by itself. */
export function cancel() {
  running?.abort()
  stopTrying(problem)
}

/** Shows the view of a question, or of none. */
export async function showAsk({ q, only }) {
  aimAt(only)
  if (q === undefined) return clear()
  // Whoever comes back to an answer finds it as it was.
  if (answeredAt === location.href) {
    question.value = q
    setTitle(q)
    return undefined
  }
  question.value = q
  form.elements.target.value = 'corpus'
  showTarget()
  startAnew()
  return ask(q)
}

function clear() {
  running?.abort()
  end()
  startAnew()
  answeredAt = undefined
  question.value = ''
  byId('result').hidden = true
  document.body.classList.remove('asked')
  setTitle()
  showProblem(problem)
  showTarget()
  if (!matchMedia('(pointer: coarse)').matches) question.focus()
}

/** Leaves the question: nothing that is under way would be seen. */
export function leaveAsk() {
  running?.abort()
}

/** Joins form and buttons with what they do. */
export function watchAsk() {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    problem.tries = 0
    void askAnew()
  })
  byId('everywhere').addEventListener('click', () => {
    const typed = question.value
    void go(address({})).then(() => (question.value = typed))
  })
  // A field that is wrong is shown: what is folded away could not be told of.
  byId('advanced').addEventListener('invalid', () => (byId('advanced').open = true), true)
  byId('copy').addEventListener('click', () => void copy(shown, byId('copied')))
  byId('link').addEventListener('click', () => void copy(location.href, byId('copied')))
  byId('forget').addEventListener('click', () => {
    forgetAll()
    showHistory(askRemembered)
  })
  question.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowUp' && question.value === '') question.value = lastRemembered()
  })
  watchFollow((text) => void ask(text, true))
  showHistory(askRemembered)
  watchTarget(askCorpus)
}
