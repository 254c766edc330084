import { titleOf } from './card.js'
import { byId, element, showText } from './dom.js'
import { showThumbs } from './feedback.js'
import { certaintyOf, showPassages } from './passages.js'
import { spelled } from './spelling.js'
import { absolute, address } from './views.js'

const STAGES = ['read', 'embed', 'retrieve', 'queue', 'encode', 'generate']
/** Passages whose addresses are copied with an answer. */
const COPIED = 3

/** The passages, before they are read. */
export function showEvidence(evidence) {
  byId('answer').textContent = '…'
  byId('answer').classList.remove('none')
  for (const id of ['extract', 'facts', 'actions', 'advice']) byId(id).hidden = true
  showText('sure', foundWords(evidence))
  showText('unread')
  showThumbs(undefined)
  showHeading('Passages', evidence)
  showPassages(evidence, null)
  for (const id of ['said', 'below', 'result']) byId(id).hidden = false
}

/** Said of passages before they are read. */
export function foundWords({ length }) {
  return length === 1 ? '1 passage was found and is being read.' : `${length} passages were found and are being read.`
}

/** The words of an answer that came so far. */
export function showWords(text) {
  byId('answer').textContent = `${text} …`
}

/** What stands in the place of an answer; undefined where there is one. */
function noAnswer({ answer, abstained, evidence, unread, suggestion }) {
  if (suggestion) return suggestion
  if (abstained) return 'No confident answer'
  if (answer === null) return 'No passage was found'
  if (answer !== '') return undefined
  if (evidence.length === 0) return 'No answer'
  return unread === undefined ? 'The passages do not say' : 'The document does not say'
}

/**
 * Shows an answer of the corpus or of a document.
 * @param {{streamed: boolean, searched?: string}} how whether its passages are shown already; what a follow-up searched for
 * @returns the text that is shown as the answer
 */
export function showAnswer(result, { streamed, searched }) {
  const { answer, extract, evidence, unread, mode } = result
  const ofDocument = unread !== undefined
  const missing = noAnswer(result)
  const shown = missing ?? spelled(answer, evidence)
  byId('answer').textContent = shown
  byId('answer').classList.toggle('none', missing !== undefined)
  const sure = certaintyOf(result)
  const found = searched && `Searched for: "${searched}"`
  showText('sure', [sure && found ? `${sure.replace(/\.$/, '')}.` : sure, found].filter(Boolean).join(' '))
  showExtract(extract)
  showText(
    'unread',
    unread > 0 ? `${unread.toLocaleString('en')} characters were not read: they fit the question less, or the model takes no more.` : '',
  )
  showHeading(missing === undefined || evidence.length === 0 ? 'Passages' : 'The nearest passages', evidence)
  showPassages(evidence, extract, { again: streamed, mode })
  showFacts(result)
  showThumbs(missing === undefined && !ofDocument ? result : undefined)
  byId('copied').value = ''
  byId('link').hidden = ofDocument
  byId('advice').hidden = missing === undefined || ofDocument || missing === result.suggestion
  for (const id of ['actions', 'said', 'below', 'result']) byId(id).hidden = false
  return shown
}

function showExtract(extract) {
  byId('extract').hidden = !extract
  byId('sentence').textContent = extract?.text ?? ''
  const { id, title, start, end } = extract ?? {}
  const place = id === undefined ? title : element('a', { href: address({ passage: id, mark: `${start}-${end}` }) }, title || 'Its passage')
  byId('said-in').replaceChildren(place ?? '')
}

function showHeading(text, evidence) {
  showText('heading', evidence.length > 0 ? text : '')
}

/** Models by their names: what follows the @ tells builds apart. */
function showFacts({ timings_ms: times, model, evidence, unread }) {
  const read = evidence.filter(({ role }) => role !== 'unused').length
  const models = Object.entries(model)
    .filter(([, id]) => id)
    .map(([role, id]) => `${role} ${id.split('@')[0]}`)
    .join(', ')
  const passages = `${evidence.length} passage${evidence.length === 1 ? '' : 's'}`
  const share = unread === undefined && evidence.length > 0 ? `; ${read} of ${passages} ${read === 1 ? 'was' : 'were'} read` : ''
  byId('model').textContent = `${(times.total / 1000).toFixed(1)} s in all${share}. ${models[0]?.toUpperCase() ?? ''}${models.slice(1)}.`
  const stages = STAGES.filter((name) => name in times).map((name) => `${name} ${times[name].toFixed(1)}`)
  byId('times').textContent = `${stages.join(', ')} ms`
  byId('facts').hidden = false
}

/** Question, answer and what says it, as text. */
export function asText(question, shown, { evidence, extract, ...result }) {
  const saying = evidence.filter(({ highlights = [] }) => highlights.length > 0)
  const from = (saying.length > 0 ? saying : evidence).slice(0, COPIED)
  const places = from.map((one) => (one.source ? `${titleOf(one)} (${one.source})` : titleOf(one)))
  const sure = certaintyOf({ evidence, ...result })
  return [
    `Question: ${question}`,
    `Answer: ${shown}${sure && !result.abstained ? ` (${sure})` : ''}`,
    ...(extract ? [`Nearest sentence: ${extract.text}`] : []),
    ...(places.length > 0 ? [`Passages: ${places.join('; ')}`] : []),
    ...from.filter(({ id }) => id !== undefined).map(({ id }) => absolute({ passage: id })),
  ].join('\n')
}
