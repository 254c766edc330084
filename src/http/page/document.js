import { call } from './api.js'
import { byId } from './dom.js'

/** The document that was chosen or pasted; undefined without one. */
function chosenDocument() {
  const [file] = byId('file').files
  const text = byId('text').value
  if (file) return file
  return text.trim() === '' ? undefined : new File([text], 'Pasted text.txt', { type: 'text/plain' })
}

/**
 * Asks about one document alone.
 * @returns an answer in the form of those from the corpus
 * @throws ServiceError, and an error where there is no document
 */
export async function askDocument(question, signal) {
  const file = chosenDocument()
  if (file === undefined) throw new Error('Choose a file first, or paste a text.')
  const body = new FormData()
  body.append('question', question)
  body.append('file', file)
  const { document, evidence, ...answer } = await call('v1/documents/answer', { method: 'POST', body, signal })
  return { ...answer, unread: document.unread, evidence: evidence.map((part) => asPassage(part, document.title)) }
}

/** A part of a document as a passage: its highlights are offsets in its own text. */
function asPassage({ start, rank, text, pages, role, attention, highlights }, title) {
  const within = ({ start: from, end: to }) => ({ start: Math.max(0, from - start), end: Math.min(text.length, to - start) })
  return {
    rank,
    title: pages ? `${title}, ${pagesOf(pages)}` : title,
    text,
    role,
    attention,
    highlights: highlights.map((highlight) => ({ ...within(highlight), sentence: within(highlight.sentence) })),
  }
}

function pagesOf({ first, last }) {
  return first === last ? `page ${first}` : `pages ${first} to ${last}`
}

/** Of file and text the one that came last counts. */
export function watchDocument() {
  byId('file').addEventListener('change', () => {
    byId('text').value = ''
  })
  byId('text').addEventListener('input', () => {
    byId('file').value = ''
  })
}
