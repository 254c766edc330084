import { announce, element } from './dom.js'

/** Copies a text, and says in an output whether that was done. */
export async function copy(text, said) {
  const copied = navigator.clipboard
    ? await navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      )
    : copySelected(text)
  said.value = copied ? 'Copied.' : 'This browser does not let the page copy.'
  announce(said.value)
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
