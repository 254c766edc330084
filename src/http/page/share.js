import { byId, element } from './dom.js'

/** The question of the page's address; empty without one. */
export function linkedQuestion() {
  return new URLSearchParams(location.search).get('q')?.trim() ?? ''
}

/** Puts a question into the page's address, as a step that Back takes back. */
export function linkTo(question) {
  if (linkedQuestion() !== question) history.pushState(null, '', `?q=${encodeURIComponent(question)}`)
}

/** Copies a text, and says whether that was done. */
export async function copy(text) {
  const copied = navigator.clipboard
    ? await navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      )
    : copySelected(text)
  byId('copied').value = copied ? 'Copied.' : 'This browser does not let the page copy.'
}

/** For pages that are not served over TLS: they have no clipboard of their own. */
function copySelected(text) {
  const focused = document.activeElement
  const field = element('textarea', { value: text, readOnly: true, className: 'unseen' })
  document.body.append(field)
  field.select()
  const copied = document.execCommand('copy')
  field.remove()
  focused?.focus()
  return copied
}
