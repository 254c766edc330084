import { eventsOf } from './events.js'

const byId = (id) => document.getElementById(id)
const form = byId('ask')
const question = byId('question')
const MOST_REMEMBERED = 50
const POLL_MS = 500
let running
let before

function withKey(options) {
  const key = byId('key').value
  return { ...options, headers: { ...options.headers, ...(key && { authorization: `Bearer ${key}` }) } }
}

/** The body of an answer that is one. @throws Error with the service's own message */
async function bodyOf(response) {
  const body = await response.json()
  if (!response.ok) throw new Error(body.error?.message ?? `The service answered ${response.status}.`)
  return body
}

async function call(url, options = {}) {
  return bodyOf(await fetch(url, withKey(options)))
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

/** Shows an error in the form that it is of; without one, takes away what is shown there. */
function complain(place, error) {
  byId(place).hidden = error === undefined
  byId(place).textContent = error?.message ?? ''
}

async function describeService() {
  const { reader, retriever, index, modes, methods } = await call('v1/info')
  byId('about').textContent = [
    index ? `${index.passages.toLocaleString('en')} passages` : 'no passages yet',
    `reader ${reader.id}`,
    `retriever ${retriever.id}`,
  ].join(' · ')
  const { k, k_decoder, mode, method } = form.elements
  if (mode.options.length > 0) return
  k.value = reader.defaults.k
  k_decoder.value = reader.defaults.k_decoder
  mode.append(...modes.map((name) => element('option', {}, name)))
  method.append(...methods.map((name) => element('option', { selected: name === retriever.method }, name)))
}

async function ask() {
  const text = question.value.trim()
  if (text === '') return
  running?.abort()
  const mine = (running = new AbortController())
  const { k, k_decoder, mode, method } = form.elements
  const body = {
    question: text,
    ...(k.value !== '' && { k: Number(k.value) }),
    ...(k_decoder.value !== '' && { k_decoder: Number(k_decoder.value) }),
    ...(mode.value && { mode: mode.value }),
    ...(method.value && { method: method.value }),
  }
  complain('problem')
  // What is shown below is of this question, or nothing is.
  byId('result').hidden = true
  form.scrollIntoView({ block: 'nearest' })
  byId('go').textContent = 'Asking…'
  byId('result').setAttribute('aria-busy', 'true')
  try {
    show(await answerTo(body, mine.signal))
    remember(text)
  } catch (error) {
    if (error.name !== 'AbortError') complain('problem', error)
    else if (running === mine) complain('problem', new Error('Cancelled.'))
  } finally {
    if (running === mine) {
      running = undefined
      byId('go').textContent = 'Ask'
      byId('result').removeAttribute('aria-busy')
    }
  }
}

/** Asks, and shows passages and words as they come. Where they break off (something on the way cuts streams), asks for the whole. */
async function answerTo(body, signal) {
  const post = (question) =>
    fetch(
      'v1/answer',
      withKey({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(question), signal }),
    )
  const response = await post({ ...body, stream: true })
  if (!/^text\/event-stream/.test(response.headers.get('content-type') ?? '')) return bodyOf(response)
  return (await streamed(response)) ?? bodyOf(await post(body))
}

/** What the service itself said of a request. */
class ServiceError extends Error {}

/** The answer at the end of a stream; undefined where the stream breaks off before. @throws ServiceError */
async function streamed(response) {
  let said = ''
  try {
    for await (const { event, data } of eventsOf(response.body)) {
      if (event === 'evidence') showEvidence(data.evidence)
      else if (event === 'token') byId('answer').textContent = `${(said += data.text)} …`
      else if (event === 'answer') return data
      else if (event === 'error') throw new ServiceError(data.error.message)
    }
  } catch (error) {
    if (error instanceof ServiceError || error.name === 'AbortError') throw error
  }
  return undefined
}

/** The passages, before they are read. */
function showEvidence(evidence) {
  byId('result').hidden = false
  byId('answer').textContent = '…'
  byId('certainty').hidden = true
  byId('nearest').hidden = true
  byId('extract').hidden = true
  byId('strip').replaceChildren()
  byId('times').textContent = ''
  showPassages(evidence)
}

/** Whoever reads in the list stays there. */
function showPassages(evidence) {
  const list = byId('passages')
  const at = [...list.children].indexOf(document.activeElement)
  list.replaceChildren(...evidence.map(showPassage))
  list.children[at]?.focus({ preventScroll: true })
}

/** What stands in the place of an answer; undefined where there is one. */
function noAnswer({ answer, abstained, evidence }) {
  if (abstained) return 'No confident answer'
  if (answer === null) return 'No passage was found'
  if (answer !== '') return undefined
  return evidence.length === 0 ? 'No answer' : 'The passages do not say'
}

function show(result) {
  const { answer, abstained, extract, confidence, probability_correct: probability, evidence, timings_ms: times } = result
  byId('result').hidden = false
  byId('answer').textContent = noAnswer(result) ?? answer
  const sure = probability ?? confidence
  // Of no answer there is no confidence; of a withheld one there is.
  byId('certainty').hidden = !abstained && !answer
  byId('extract').hidden = !extract
  byId('extract').textContent = extract ? `${extract.text} (${extract.title})` : ''
  byId('nearest').hidden = abstained || answer !== '' || evidence.length === 0
  byId('confidence').value = sure
  byId('sure').textContent = typeof probability !== 'number' ? `confidence ${sure.toFixed(2)}` : `${percent(sure)} % likely right`
  const parts = ['embed', 'retrieve', 'queue', 'encode', 'generate'].map((name) => [name, times[name] ?? 0])
  byId('strip').replaceChildren(...parts.map(([name, ms]) => timePart(name, ms)))
  const total = Math.round(times.total)
  const change = before === undefined ? '' : ` (${total >= before ? '+' : '−'}${Math.abs(total - before)} ms against the answer before)`
  const told = `${parts.map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ')} ms; ${total} ms in all${change}`
  byId('times').textContent = told
  byId('strip').setAttribute('aria-label', told)
  before = total
  showPassages(evidence)
}

/** Nothing is certain, or impossible, that was only estimated. */
function percent(probability) {
  return Math.min(99, Math.max(1, Math.round(100 * probability)))
}

function timePart(name, ms) {
  const part = element('span', { title: `${name} ${ms} ms` })
  part.style.flexGrow = String(ms)
  return part
}

function showPassage({ rank, id, title, text, source, role, attention, highlights }) {
  const heading = element('h2', {}, `${rank}. `, linked(title || id, source), element('small', { className: 'quiet' }, role ?? ''))
  if (typeof attention === 'number') {
    const share = `${Math.round(100 * attention)} % of the attention`
    const bar = element('progress', { max: 1, value: attention, title: share })
    bar.setAttribute('aria-label', share)
    heading.append(bar, element('small', {}, `${Math.round(100 * attention)} %`))
  }
  return element('li', { tabIndex: 0 }, heading, element('p', {}, ...marked(text, highlights ?? [])))
}

function linked(text, source) {
  return /^https?:\/\//.test(source ?? '')
    ? element('a', { href: source, rel: 'noreferrer', target: '_blank' }, text)
    : element('span', {}, text)
}

/** The text with the answer marked and the sentences around it underlined. */
function marked(text, highlights) {
  const cuts = new Set([0, text.length, ...highlights.flatMap(({ start, end, sentence }) => [start, end, sentence.start, sentence.end])])
  const places = [...cuts].sort((a, b) => a - b)
  return places.slice(0, -1).map((from, i) => {
    const piece = text.slice(from, places[i + 1])
    if (highlights.some(({ start, end }) => start <= from && from < end)) return element('mark', {}, piece)
    if (highlights.some(({ sentence }) => sentence.start <= from && from < sentence.end))
      return element('span', { className: 'support' }, piece)
    return piece
  })
}

/** What the browser keeps is a convenience: one that keeps nothing, or no more, has a page that works. */
function kept(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}

function remembered() {
  const list = kept(() => JSON.parse(localStorage.getItem('questions') ?? '[]'))
  return Array.isArray(list) ? list.filter((item) => typeof item === 'string') : []
}

function remember(text) {
  const list = [text, ...remembered().filter((known) => known !== text)].slice(0, MOST_REMEMBERED)
  kept(() => localStorage.setItem('questions', JSON.stringify(list)))
  showHistory()
}

function showHistory() {
  const again = (text) => () => {
    question.value = text
    void ask()
  }
  byId('history').replaceChildren(
    ...remembered().map((text) => element('li', {}, element('button', { type: 'button', onclick: again(text) }, text))),
  )
}

/** What a corpus is sent as, by the ending of its name; the service finds out the format of any other from its content. */
const TYPES = {
  tsv: 'text/tab-separated-values',
  csv: 'text/csv',
  jsonl: 'application/x-ndjson',
  ndjson: 'application/x-ndjson',
  gz: 'application/gzip',
}

async function index() {
  const [file] = byId('corpus').files
  if (!file) throw new Error('Choose a file first.')
  const type = TYPES[file.name.split('.').at(-1).toLowerCase()] ?? 'application/octet-stream'
  const address = `v1/admin/index-jobs${byId('replace').checked ? '?replace=true' : ''}`
  byId('job').value = 'uploading'
  let job = await call(address, { method: 'POST', headers: { 'content-type': type }, body: file })
  byId('progress').hidden = false
  while (['queued', 'planning', 'indexing', 'verifying'].includes(job.state)) {
    showJob(job)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    job = await call(`v1/admin/index-jobs/${job.id}`)
  }
  showJob(job)
  await describeService()
}

function showJob({ state, counters: { accepted, committed, rejected }, eta_s: eta, error }) {
  byId('progress').value = accepted === 0 ? 0 : committed / accepted
  const left = eta === null || state === 'done' ? '' : `, ${eta} s left`
  byId('job').value = `${state}: ${committed} of ${accepted} passages, ${rejected} rejected${left}${error ? `. ${error.message}` : ''}`
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void ask()
})
byId('upload').addEventListener('submit', (event) => {
  event.preventDefault()
  complain('upload-problem')
  index().catch((error) => {
    byId('job').value = ''
    complain('upload-problem', error)
  })
})
byId('key').value = kept(() => sessionStorage.getItem('key')) ?? ''
byId('key').addEventListener('change', () => {
  kept(() => sessionStorage.setItem('key', byId('key').value))
  complain('upload-problem')
  describeService().then(
    () => complain('problem'),
    (error) => complain('upload-problem', error),
  )
})
byId('forget').addEventListener('click', () => {
  kept(() => localStorage.removeItem('questions'))
  showHistory()
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
addEventListener('pagehide', () => running?.abort())
showHistory()
describeService().catch((error) => complain('problem', error))
