import { fetchFile } from './api.js'
import { element, quiet } from './dom.js'
import { key } from './gate.js'
import { copy } from './share.js'
import { absolute, address } from './views.js'

const DOCUMENT = /\.(?:pdf|docx?|od[tsp]|xlsx|pptx|epub|eml|md|markdown|html?|txt|rst|adoc|org|tex|ipynb|vtt|srt)$/i
/** Types that run nothing: any other blob would run in the origin of the page. */
const SHOWN = ['application/pdf', 'text/plain']

/** Ids are no titles: those of documents are hashes. */
export function titleOf({ title, source, rank }) {
  return title || fileName(source) || `Passage ${rank}`
}

function fileName(source) {
  return DOCUMENT.test(source ?? '') ? source.split('/').at(-1) : ''
}

const isPage = (source) => /^https?:\/\//i.test(source ?? '')

/** "page 3"; empty without one. */
export function pageOf({ metadata }) {
  return typeof metadata?.page === 'number' ? `page ${metadata.page}` : ''
}

/** The text with the answer marked and the sentences around it underlined. */
export function marked(text, highlights) {
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

/** What is below a passage: where it is from, and what can be done with it. @param {{source?: boolean, link?: boolean}} shown */
export function footOf(passage, { source = true, link = true } = {}) {
  if (passage.id === undefined) return ''
  const said = element('output')
  const place = [passage.source, pageOf(passage)].filter(Boolean).join(', ')
  const parts = [
    ...(source && passage.source ? [element('a', { href: address({ source: passage.source }) }, place)] : []),
    ...openLink(passage, said),
    ...(link ? [element('a', { href: address({ passage: passage.id }) }, 'Link to passage')] : []),
    element('button', { type: 'button', className: 'plain', onclick: () => void copy(citation(passage), said) }, 'Copy with source'),
    said,
  ]
  return element('p', { className: 'foot' }, ...parts)
}

/** `"SENTENCE" TITLE, SOURCE, page 3. ADDRESS` */
function citation(passage) {
  const { text, highlights: [first] = [], source, id } = passage
  const sentence = first ? text.slice(first.sentence.start, first.sentence.end) : text
  const place = [titleOf(passage), source, pageOf(passage)].filter(Boolean).join(', ')
  return `"${sentence.trim()}" ${place}. ${absolute({ passage: id })}`
}

/**
 * A link to where a passage can be read whole: its address, or the file that the service keeps; none without either.
 * @param {HTMLElement} said tells what went wrong
 * @param {{whole?: boolean, className?: string}} shown whether it opens the file at its beginning
 */
export function openLink({ source, file, metadata }, said, { whole = false, className = '' } = {}) {
  const opened = { target: '_blank', rel: 'noreferrer', className }
  const object = element('span', { className: 'unseen' }, source ?? '')
  if (isPage(source)) return [element('a', { ...opened, href: source }, element('span', {}, 'Open the page ', object))]
  const place = ownAddress(file)
  if (place === undefined) return []
  if (whole) place.hash = ''
  const atPage = whole || typeof metadata?.page !== 'number' ? undefined : `at page ${metadata.page}`
  const label = atPage ? ['Open ', object, ` ${atPage}`] : ['Open the file ', object]
  const link = element('a', { ...opened, href: place.href }, element('span', {}, ...label))
  link.addEventListener('click', (event) => {
    if (key() === '') return
    event.preventDefault()
    void openFile(place, fileName(source) || 'file', said)
  })
  return [link]
}

/** An address of this service; undefined for any other. */
function ownAddress(file) {
  if (typeof file !== 'string' || !URL.canParse(file, document.baseURI)) return undefined
  const place = new URL(file, document.baseURI)
  return place.origin === location.origin ? place : undefined
}

/** A link's request carries no key: the file is fetched with it, and shown in a tab that the click opened, or saved. */
async function openFile(place, name, said) {
  const tab = open('', '_blank')
  try {
    const file = await fetchFile(place.href)
    const shown = URL.createObjectURL(file)
    if (tab && SHOWN.includes(file.type.split(';')[0])) tab.location.href = shown + place.hash
    else {
      tab?.close()
      element('a', { href: shown, download: name }).click()
      URL.revokeObjectURL(shown)
    }
  } catch (error) {
    tab?.close()
    said.value = error.message
  }
}

/** A passage of a list. @param {{source?: boolean}} shown whether it says where it is from */
export function cardOf(passage, shown) {
  const heading = passage.metadata?.heading || titleOf(passage)
  const title = element('p', {}, element('span', { className: 'title' }, String(heading)))
  if (pageOf(passage)) title.append(' ', element('small', { className: 'quiet' }, pageOf(passage)))
  return element('li', {}, title, element('p', { className: 'passage' }, passage.text), footOf(passage, shown))
}

/** Where one passage is from, as a line. */
export function placeLine(passage) {
  const { source, metadata } = passage
  const rest = [pageOf(passage), metadata?.heading].filter(Boolean).join(', ')
  if (!source) return rest ? quiet(rest) : ''
  return quiet(element('a', { href: address({ source }) }, source), rest ? `, ${rest}` : '')
}
