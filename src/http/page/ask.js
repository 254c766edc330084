import { answerTo } from './api.js'
import { allCollections, choose, collection, collectionName, loadCollections, loadService, picker } from './collections.js'
import { askDocument } from './document.js'
import { announce, button, byId, count, showText } from './dom.js'
import { updateThumbs } from './feedback.js'
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
/** The one source that is asked; undefined for all. */
let only
let isEmpty = false

const isOwn = () => form.elements.target.value === 'document'

/** Reads what is in the collection and what can be asked of the service, and shows it. @throws ServiceError, UnreachableError */
export async function describeService() {
  const listed = loadCollections().then(() => byId('picker').replaceChildren(picker(changeCollection)))
  const described = await loadService()
  await listed.catch(() => undefined)
  const { corpus, reader, modes, methods, min_confidence: least, index, key } = described
  const empty = !(index?.passages > 0)
  showText('about', empty ? 'No passages yet.' : corpus.about)
  byId('examples').replaceChildren(...corpus.questions.map((text) => button(text, () => askCorpus(text))))
  byId('to-manage').hidden = key?.role === 'user'
  showEmpty(empty)
  updateThumbs()
  const { k, k_decoder, min_confidence, mode, method } = form.elements
  k.placeholder = reader.defaults.k
  k_decoder.placeholder = reader.defaults.k_decoder
  min_confidence.placeholder = least
  if (mode.options.length > 1) return
  mode.append(...modes.map((one) => new Option(one)))
  method.append(...methods.map((one) => new Option(one)))
}

/** Describes the service again, and tells what keeps it from that. */
export function refresh() {
  return describeService().catch((error) => showProblem(problem, error, refresh))
}

function changeCollection() {
  const chosen = allCollections().find(({ name }) => name === collectionName())
  showText('about', typeof chosen?.passages === 'number' ? `${count(chosen.passages, 'passage')}.` : '')
  byId('examples').replaceChildren()
  showProblem(problem)
  void refresh()
}

/** Where there is nothing to ask, a document of one's own can be asked. */
function showEmpty(empty) {
  isEmpty = empty
  byId('empty').hidden = !empty
  byId('browse').hidden = empty
  if (empty) form.elements.target.value = 'document'
  showTarget()
}

/** Examples are for whoever has not asked yet. */
function showExamples() {
  byId('examples').hidden = isOwn() || only !== undefined || document.body.classList.contains('asked')
}

/** Shows the fields of what is asked: the corpus, one source or a document. */
function showTarget() {
  byId('document').hidden = !isOwn()
  byId('only').hidden = only === undefined || isOwn()
  byId('only-source').textContent = only ?? ''
  byId('picker').hidden = isEmpty || isOwn() || only !== undefined
  showExamples()
}

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
  begin(text, { own, follow })
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
    const asked = { question: text, collection: collection(), ...(only && { filter: { source: only } }), ...options() }
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
  showExamples()
  if (follow) beginFollow()
  else byId('result').hidden = true
  byId('said').hidden = byId('below').hidden = true
  if (!own && !follow) push({ q: text, source: only })
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
    push({ q: searched, source: only })
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
  byId('picker').replaceChildren(picker(changeCollection))
  only = undefined
  void askCorpus(entry.question)
}

/** Ends the question under way, and asking again by itself. */
export function cancel() {
  running?.abort()
  stopTrying(problem)
}

/** Shows the view of a question, or of none. */
export async function showAsk({ q, only: source }) {
  only = source
  showTarget()
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
  showExamples()
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
  for (const choice of form.elements.target) choice.addEventListener('change', showTarget)
  byId('everywhere').addEventListener('click', async () => {
    const typed = question.value
    await go(address({}))
    question.value = typed
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
  // Browsers restore what was chosen before a reload.
  showTarget()
}
