import { answerTo, call } from './api.js'
import { askDocument, watchDocument } from './document.js'
import { byId, element, kept, showProblem } from './dom.js'
import { forgetAll, remember, remembered, showHistory } from './history.js'
import { asText, showAnswer, showEvidence, showWords } from './result.js'
import { copy, linkedQuestion, linkTo } from './share.js'
import { watchUpload } from './upload.js'

const form = byId('ask')
const question = byId('question')
const name = document.title
const NUMBERS = ['k', 'k_decoder', 'min_confidence']
/** The question under way, and what is shown of the last one. */
let running
let shown

/** What is in the corpus, and what can be asked of the service. */
async function describeService() {
  const { corpus, reader, modes, methods, min_confidence: least } = await call('v1/info')
  byId('about').textContent = corpus.about
  byId('examples').replaceChildren(
    ...corpus.questions.map((text) => element('button', { type: 'button', onclick: () => askCorpus(text) }, text)),
  )
  showExamples()
  const { k, k_decoder, min_confidence, mode, method } = form.elements
  k.placeholder = reader.defaults.k
  k_decoder.placeholder = reader.defaults.k_decoder
  min_confidence.placeholder = least
  if (mode.options.length > 1) return
  mode.append(...modes.map((one) => element('option', {}, one)))
  method.append(...methods.map((one) => element('option', {}, one)))
}

/** Examples are for whoever has not asked yet. */
function showExamples() {
  const own = form.elements.target.value === 'document'
  byId('examples').hidden = own || document.body.classList.contains('asked') || byId('examples').children.length === 0
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
  byId('document').hidden = true
  question.value = text
  void ask()
}

async function ask() {
  const text = question.value.trim()
  if (text === '') return
  running?.abort()
  const mine = (running = new AbortController())
  const own = form.elements.target.value === 'document'
  begin(text, own)
  let streamed = false
  const show = {
    onEvidence: (evidence) => {
      streamed = true
      byId('status').textContent = `${evidence.length} passages were found and are being read.`
      showEvidence(evidence)
    },
    onText: showWords,
  }
  try {
    const body = { question: text, ...options() }
    const result = own ? await askDocument(text, mine.signal) : await answerTo(body, mine.signal, show)
    const said = showAnswer(result, streamed)
    shown = asText(text, said, result)
    byId('status').textContent = [`Answer: ${said}.`, byId('sure').textContent, result.extract?.text ?? ''].join(' ')
    remember(text)
    showHistory(askCorpus)
  } catch (error) {
    fail(error, running === mine)
  } finally {
    if (running === mine) end()
  }
}

/** What is shown below is of this question, or nothing is. */
function begin(text, own) {
  showProblem('problem')
  byId('result').hidden = true
  document.body.classList.add('asked')
  showExamples()
  if (!own) linkTo(text)
  document.title = `${text} - ${name}`
  // The keyboard of a phone covers the answer.
  if (matchMedia('(pointer: coarse)').matches) question.blur()
  form.scrollIntoView({ block: 'nearest' })
  byId('go').textContent = 'Asking…'
  byId('status').textContent = 'Asking.'
  byId('result').setAttribute('aria-busy', 'true')
}

function fail(error, isLast) {
  if (error.name !== 'AbortError') refuse(error)
  else if (isLast) showProblem('problem', new Error('Cancelled.'))
  if (isLast) byId('status').textContent = ''
}

function end() {
  running = undefined
  byId('go').textContent = 'Ask'
  byId('result').removeAttribute('aria-busy')
}

/** Shows an error; for one that a key helps against, the place for the key. */
function refuse(error) {
  showProblem('problem', error)
  if (error.status === 401) byId('admin').open = true
}

/** Follows the address: to its question, or to the page as it was opened. */
function followAddress() {
  const linked = linkedQuestion()
  if (linked !== '') return askCorpus(linked)
  running?.abort()
  end()
  question.value = ''
  byId('result').hidden = true
  document.body.classList.remove('asked')
  document.title = name
  showProblem('problem')
  return showExamples()
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void ask()
})
form.addEventListener('change', showExamples)
// A field that is wrong is shown: what is folded away could not be told of.
byId('advanced').addEventListener('invalid', () => (byId('advanced').open = true), true)
byId('copy').addEventListener('click', () => void copy(shown))
byId('link').addEventListener('click', () => void copy(location.href))
byId('key').value = kept(() => sessionStorage.getItem('key')) ?? ''
byId('key').addEventListener('change', () => {
  kept(() => sessionStorage.setItem('key', byId('key').value))
  showProblem('upload-problem')
  describeService().then(
    () => showProblem('problem'),
    (error) => showProblem('upload-problem', error),
  )
})
byId('forget').addEventListener('click', () => {
  forgetAll()
  showHistory(askCorpus)
})
document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '')
  if (event.key === '/' && !typing) {
    event.preventDefault()
    question.focus()
    question.select()
  } else if (event.key === 'Escape') running?.abort()
  else if (event.key === 'ArrowUp' && document.activeElement === question && question.value === '') question.value = remembered()[0] ?? ''
})
addEventListener('popstate', followAddress)
addEventListener('pagehide', () => running?.abort())
watchDocument(form)
watchUpload(describeService)
showHistory(askCorpus)
describeService().catch(refuse)
if (linkedQuestion() !== '') followAddress()
