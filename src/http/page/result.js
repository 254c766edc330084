import { byId, showText } from './dom.js'
import { certaintyOf, showPassages, titleOf } from './passages.js'
import { spelled } from './spelling.js'

/** Milliseconds of the answer before. */
let before
const STAGES = ['read', 'embed', 'retrieve', 'queue', 'encode', 'generate']

/** The passages, before they are read. */
export function showEvidence(evidence) {
  byId('answer').textContent = '…'
  for (const id of ['extract', 'facts']) byId(id).hidden = true
  for (const id of ['sure', 'unread']) showText(id)
  document.querySelector('.actions').hidden = true
  showHeading('Passages', evidence)
  showPassages(evidence, null)
  byId('result').hidden = false
}

/** The words of an answer that came so far. */
export function showWords(text) {
  byId('answer').textContent = `${text} …`
}

/** What stands in the place of an answer; undefined where there is one. */
function noAnswer({ answer, abstained, evidence, unread }) {
  if (abstained) return 'No confident answer'
  if (answer === null) return 'No passage was found'
  if (answer !== '') return undefined
  if (evidence.length === 0) return 'No answer'
  return unread === undefined ? 'The passages do not say' : 'The document does not say'
}

/**
 * Shows an answer of the corpus or of a document.
 * @param {boolean} streamed whether its passages are shown already
 * @returns the text that is shown as the answer
 */
export function showAnswer(result, streamed) {
  const { answer, extract, evidence, unread } = result
  const missing = noAnswer(result)
  const shown = missing ?? spelled(answer, evidence)
  byId('answer').textContent = shown
  byId('answer').classList.toggle('none', missing !== undefined)
  showText('sure', certaintyOf(result))
  byId('extract').hidden = !extract
  byId('sentence').textContent = extract?.text ?? ''
  byId('said-in').textContent = extract?.title ?? ''
  showText(
    'unread',
    unread > 0 ? `${unread.toLocaleString('en')} characters were not read: they fit the question less, or the model takes no more.` : '',
  )
  showHeading(missing === undefined || evidence.length === 0 ? 'Passages' : 'The nearest passages', evidence)
  showPassages(evidence, extract, { again: streamed })
  showFacts(result)
  byId('copied').value = ''
  document.querySelector('.actions').hidden = false
  byId('link').hidden = unread !== undefined
  byId('result').hidden = false
  return shown
}

function showHeading(text, evidence) {
  showText('heading', evidence.length > 0 ? text : '')
}

/** Models by their names: what follows the @ tells builds apart. */
function showFacts({ timings_ms: times, model }) {
  const stages = STAGES.filter((name) => name in times).map((name) => `${name} ${times[name].toFixed(1)}`)
  const total = Math.round(times.total)
  const change = before === undefined ? '' : ` (${total >= before ? '+' : '−'}${Math.abs(total - before)} ms against the answer before)`
  before = total
  byId('times').textContent = `${stages.join(', ')} ms; ${total} ms in all${change}`
  byId('model').textContent = Object.entries(model)
    .filter(([, id]) => id)
    .map(([role, id]) => `${role} ${id.split('@')[0]}`)
    .join(', ')
  byId('facts').hidden = false
}

/** Question, answer and what says it, as text. */
export function asText(question, shown, { evidence, extract, ...result }) {
  const saying = evidence.filter(({ highlights = [] }) => highlights.length > 0)
  const from = (saying.length > 0 ? saying : evidence)
    .slice(0, 3)
    .map((one) => (one.source ? `${titleOf(one)} (${one.source})` : titleOf(one)))
  const sure = certaintyOf({ evidence, ...result })
  return [
    `Question: ${question}`,
    `Answer: ${shown}${sure && !result.abstained ? ` (${sure})` : ''}`,
    ...(extract ? [`Nearest sentence: ${extract.text}`] : []),
    ...(from.length > 0 ? [`Passages: ${from.join('; ')}`] : []),
  ].join('\n')
}
