import { footOf, marked, titleOf } from './card.js'
import { byId, element, percent } from './dom.js'

/** Passages that are open when they are first shown. */
const OPEN = 3

/**
 * Shows the passages of an answer. Whoever reads in the list stays there, and what was opened or closed stays so.
 * @param {object | null} extract the sentence that stands in the place of an answer
 * @param {{again?: boolean, mode?: string}} options whether they are the passages that are shown already; how they were read
 */
export function showPassages(evidence, extract, { again = false, mode } = {}) {
  const list = byId('passages')
  const shown = again ? [...list.querySelectorAll('details')] : []
  const at = shown.findIndex((one) => one.contains(document.activeElement))
  const from = evidence.find(({ highlights = [], role }) => highlights.length > 0 && role !== 'unused')
  const noteOf = (passage) => [
    ...(passage === from ? ['answer from here'] : []),
    ...(typeof passage.attention === 'number' && mode !== 'map-rerank'
      ? [`${Math.round(100 * passage.attention)} % of the attention`]
      : []),
  ]
  list.replaceChildren(...evidence.map((passage, i) => showPassage(passage, extract, shown[i]?.open ?? i < OPEN, noteOf(passage))))
  if (at >= 0) list.querySelectorAll('summary')[at]?.focus({ preventScroll: true })
}

function showPassage(passage, extract, open, notes) {
  const { rank, id, text, highlights = [] } = passage
  const sentence = extract && extract.id === id ? [{ start: 0, end: 0, sentence: extract }] : []
  const summary = element('summary', {}, element('span', { className: 'title' }, `${rank}. ${titleOf(passage)}`))
  if (notes.length > 0) summary.append(' ', element('small', { className: 'quiet' }, notes.join(', ')))
  const marks = marked(text, [...highlights, ...sentence])
  return element('li', {}, element('details', { open }, summary, element('p', { className: 'passage' }, ...marks), footOf(passage)))
}

/** "99 % likely right", or the confidence of a reader without calibration; undefined of no answer. */
export function certaintyOf({ answer, abstained, confidence, probability_correct: probability, finish_reason: finish }) {
  if (!abstained && !answer) return undefined
  const sure = typeof probability === 'number' ? `${percent(probability)} % likely right` : `confidence ${confidence.toFixed(2)}`
  return abstained ? `The answer was withheld: ${sure}.` : `${finish === 'length' ? 'cut off at the most tokens, ' : ''}${sure}`
}
