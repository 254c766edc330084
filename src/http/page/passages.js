import { fetchFile } from './api.js'
import { byId, element, percent, showProblem } from './dom.js'

/** Passages that are open when they are first shown. */
const OPEN = 3
const DOCUMENT = /\.(?:pdf|docx?|od[tsp]|xlsx|pptx|epub|eml|md|markdown|html?|txt|rst|adoc|org|tex|ipynb|vtt|srt)$/i

/**
 * Shows the passages of an answer. Whoever reads in the list stays there, and what was opened or closed stays so.
 * @param {object | null} extract the sentence that stands in the place of an answer
 * @param {{again?: boolean}} options whether they are the passages that are shown already
 */
export function showPassages(evidence, extract, { again = false } = {}) {
  const list = byId('passages')
  const shown = again ? [...list.querySelectorAll('details')] : []
  const at = shown.findIndex((one) => one.contains(document.activeElement))
  list.replaceChildren(...evidence.map((passage, i) => showPassage(passage, extract, shown[i]?.open ?? i < OPEN)))
  if (at >= 0) list.querySelectorAll('summary')[at]?.focus({ preventScroll: true })
}

function showPassage(passage, extract, open) {
  const { rank, id, text, role, attention, highlights = [] } = passage
  const sentence = extract && extract.id === id ? [{ start: 0, end: 0, sentence: extract }] : []
  const summary = element('summary', {}, element('span', { className: 'title' }, `${rank}. ${titleOf(passage)}`))
  const notes = [
    ...(role === 'unused' ? ['not read'] : []),
    ...(typeof attention === 'number' ? [`${Math.round(100 * attention)} % of the attention`] : []),
  ]
  if (notes.length > 0) summary.append(' ', element('small', { className: 'quiet' }, notes.join(', ')))
  const marks = marked(text, [...highlights, ...sentence])
  return element('li', {}, element('details', { open }, summary, element('p', {}, ...marks), ...linksOf(passage)))
}

/** Ids are no titles: those of documents are hashes. */
export function titleOf({ title, source, rank }) {
  return title || fileName(source) || `Passage ${rank}`
}

function fileName(source) {
  return DOCUMENT.test(source ?? '') ? source.split('/').at(-1) : ''
}

/** Where a passage can be read whole: at its address, or in the file that the service keeps. */
function linksOf({ source, file, title }) {
  const links = []
  if (/^https?:\/\//i.test(source ?? '')) links.push(element('a', { href: source, rel: 'noreferrer', target: '_blank' }, source))
  else if (title && fileName(source)) links.push(element('span', {}, source))
  const address = ownAddress(file)
  if (address) links.push(fileLink(address, fileName(source) || 'file'))
  return links.length === 0
    ? []
    : [element('p', { className: 'quiet links' }, ...links.flatMap((link, i) => (i === 0 ? [link] : [' · ', link])))]
}

/** An address of this service; undefined for any other. */
function ownAddress(file) {
  if (typeof file !== 'string' || !URL.canParse(file, document.baseURI)) return undefined
  const address = new URL(file, document.baseURI)
  return address.origin === location.origin ? address.href : undefined
}

/** A link's request carries no key: with one, the file is fetched and saved. */
function fileLink(address, name) {
  const link = element('a', { href: address, target: '_blank', rel: 'noreferrer' }, 'Open the file')
  link.addEventListener('click', (event) => {
    if (byId('key').value === '') return
    event.preventDefault()
    fetchFile(address).then(
      (file) => save(file, name),
      (error) => showProblem('problem', error),
    )
  })
  return link
}

function save(file, name) {
  const address = URL.createObjectURL(file)
  element('a', { href: address, download: name }).click()
  URL.revokeObjectURL(address)
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

/** "99 % likely right", or the confidence of a reader without calibration; undefined of no answer. */
export function certaintyOf({ answer, abstained, confidence, probability_correct: probability }) {
  if (!abstained && !answer) return undefined
  const sure = typeof probability === 'number' ? `${percent(probability)} % likely right` : `confidence ${confidence.toFixed(2)}`
  return abstained ? `The answer was withheld: ${sure}.` : sure
}
