import { button, element } from './dom.js'

/**
 * Joins a button with what it opens. Escape within closes it, and gives the focus back.
 * @param {{focus?: () => void, closed?: () => void}} options called when it is opened, and when it is closed
 * @returns a function that opens or closes it
 */
export function disclosure(opener, panel, { focus = () => undefined, closed = () => undefined } = {}) {
  const toggle = (open) => {
    panel.hidden = !open
    opener.setAttribute('aria-expanded', String(open))
    if (open) return focus()
    closed()
    return opener.focus()
  }
  opener.setAttribute('aria-expanded', 'false')
  panel.hidden = true
  panel.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    toggle(false)
  })
  return toggle
}

/**
 * A question in place before something that cannot be undone; the focus is on the harmless button.
 * @param {{words: string, label: string, act: string, keep: string, first?: HTMLElement, work: (panel: HTMLElement) => Promise<void>}} asked
 */
export function confirmation(opener, { words, label, act, keep, first, work }) {
  const harmless = button(keep)
  const doIt = button(act, undefined, { className: 'small danger' })
  const actions = element('p', { className: 'actions' }, ...(first ? [first] : []), doIt, harmless)
  const panel = element('div', { className: 'problem', role: 'group', 'aria-label': label }, element('p', {}, words), actions)
  const toggle = disclosure(opener, panel, { focus: () => harmless.focus() })
  doIt.addEventListener('click', () => void work(panel))
  harmless.addEventListener('click', () => toggle(false))
  opener.addEventListener('click', () => toggle(panel.hidden))
  return Object.assign(panel, { open: () => toggle(true) })
}
