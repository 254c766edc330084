import { withQuery } from './api.js'
import { collection } from './collections.js'

const SCROLL_MS = 100
const name = document.title
/** The address of the last question of this tab. */
let lastQuestion = './'
let showView = () => Promise.resolve()

/**
 * The view of an address: everything is a query of the page, because it is served at one place alone.
 * @returns {{view: 'ask' | 'answer' | 'sources' | 'source' | 'passage' | 'manage', collection?: string}} with what the view is of
 */
export function viewOf(search) {
  const given = new URLSearchParams(search)
  const text = (field) => given.get(field)?.trim() || undefined
  const find = text('find')
  const within = { collection: text('collection') }
  if (text('q')) return { view: 'answer', q: text('q'), only: given.get('source') || undefined, ...within }
  if (text('ask')) return { view: 'ask', only: given.get('ask'), ...within }
  if (given.get('passage')) return { view: 'passage', id: given.get('passage'), mark: given.get('mark') ?? '', ...within }
  if (given.has('source')) return { view: 'source', source: given.get('source'), find, ...within }
  if (given.get('view') === 'sources') return { view: 'sources', find, ...within }
  return { view: given.get('view') === 'manage' ? 'manage' : 'ask', ...within }
}

/** An address of the page, relative to it, in the collection that is chosen. */
export const address = (parameters) => withQuery('./', { ...parameters, collection: collection() })

/** The same address as others can open it. */
export const absolute = (parameters) => new URL(address(parameters), document.baseURI).href

/** Where "Back to the question" leads. */
export const questionAddress = () => lastQuestion

export function setTitle(text) {
  document.title = text ? `${text} - ${name}` : name
}

/** Names the address of what is shown, as a step that Back takes back, without showing it anew. */
export function push(parameters) {
  const next = absolute(parameters)
  if (next !== location.href) history.pushState(null, '', next)
  noteQuestion()
}

/** Opens an address of the page. */
export function go(url) {
  if (new URL(url, document.baseURI).href !== location.href) history.pushState(null, '', url)
  scrollTo(0, 0)
  return show()
}

async function show() {
  noteQuestion()
  await showView(viewOf(location.search))
}

/** Shows what Back or Forward lead to, where it was left. */
async function showAgain(state) {
  await show()
  if (state?.scroll > 0) scrollTo(0, state.scroll)
}

function noteQuestion() {
  if (viewOf(location.search).view === 'answer') lastQuestion = location.search
}

/** Whether a click opens an address of the page here, not in another tab. */
function isPlain({ button, ctrlKey, shiftKey, metaKey, altKey, defaultPrevented }) {
  return !defaultPrevented && button === 0 && !ctrlKey && !shiftKey && !metaKey && !altKey
}

/** Shows the view of the address, now and whenever it changes. @param {(view: object) => Promise<void>} opened resolves when it is there */
export function watchAddress(opened) {
  showView = opened
  history.scrollRestoration = 'manual'
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]')
    if (!link || link.target || link.download || !isPlain(event)) return
    if (link.origin !== location.origin || link.pathname !== location.pathname) return
    event.preventDefault()
    void go(link.href)
  })
  let timer
  addEventListener('scroll', () => {
    clearTimeout(timer)
    timer = setTimeout(() => history.replaceState({ scroll: scrollY }, ''), SCROLL_MS)
  })
  addEventListener('popstate', ({ state }) => void showAgain(state))
  return showAgain(history.state)
}

/** Gives the focus to the heading of a view. */
export function focusHeading(view) {
  const heading = view.querySelector('h2')
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
}
