import { call } from './api.js'
import { cardOf } from './card.js'
import { collection, loadCollections, ofCollection, picker } from './collections.js'
import { announce, button, byId, count, element, fieldForm, quiet } from './dom.js'
import { showProblem } from './problem.js'
import { address, go, setTitle } from './views.js'

const PAGE = 100
const NEAREST = 20
/** Sources above which their list can be searched. */
const MANY = 20
const TYPING_MS = 200

export const nameOf = (source) => source || 'Without a source'

/** What the last change did, told once above the list. */
let news = ''
export const tellNext = (text) => (news = text)

/** What is in the collection: its sources, or what is nearest to some words. */
export async function showSources({ find }, fill) {
  setTitle('What is in here')
  const total = element('span', { className: 'quiet' }, 'Counting…')
  const pick = element('span')
  const told = quiet(news)
  const search = searchForm('Search the passages', find, { view: 'sources' })
  const list = element('div')
  fill(
    element('h2', {}, 'What is in here'),
    ...(news ? [told] : []),
    element('div', { className: 'between over' }, total, pick),
    search,
    list,
  )
  announce(news)
  news = ''
  const showTotal = async () => {
    const found = await call(ofCollection('v1/sources', { limit: PAGE })).catch((error) => {
      if (error.code !== 'index_missing') throw error
      return { total: { passages: 0, sources: 0 } }
    })
    const { passages, sources } = found.total
    if (passages === 0) search.replaceWith(emptyNotice())
    total.textContent = `${count(passages, 'passage')} from ${count(sources, 'source')}.`
    return found
  }
  const pickers = loadCollections().then(() => pick.replaceChildren(picker(() => void go(address({ view: 'sources', find })))))
  const shown =
    find === undefined
      ? showTotal().then((found) => (found.total.passages > 0 ? showTable(found, list) : undefined))
      : Promise.all([showTotal(), showNearest(find, list)])
  await Promise.all([shown, pickers.catch(() => undefined)])
}

/** What stands where there is nothing yet. */
function emptyNotice() {
  const notice = byId('empty').cloneNode(true)
  notice.removeAttribute('id')
  notice.hidden = false
  return notice
}

/** A form that searches passages, by an address of its own. */
export function searchForm(label, find = '', parameters = {}) {
  return fieldForm({
    label,
    action: 'Search',
    value: find,
    type: 'search',
    maxLength: 4096,
    onsubmit: (text) => void go(address({ ...parameters, find: text || undefined })),
  })
}

async function showNearest(find, list) {
  await showFound(find, list, { source: true })
  list.append(
    element('p', { className: 'actions' }, element('a', { className: 'button', href: address({ view: 'sources' }) }, 'Show all sources')),
  )
}

/** Passages nearest to some words. @param {{filter?: object, source: boolean}} how of which source; whether each says where it is from */
export async function showFound(find, list, { filter, source }) {
  list.replaceChildren(quiet('Searching…'))
  const { passages } = await call('v1/search', { json: { query: find, collection: collection(), k: NEAREST, filter } })
  const words = passages.length === 0 ? 'Nothing was found.' : `${count(passages.length, 'passage')} nearest to "${find}"`
  list.replaceChildren(element('h3', {}, words), element('ol', { className: 'cards' }, ...passages.map((one) => cardOf(one, { source }))))
  announce(words)
}

function showTable(first, list) {
  let contains
  const rows = element('tbody')
  const more = element('p', { className: 'actions' })
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  const filter = nameFilter((text) => {
    contains = text || undefined
    void load({})
  })
  const numbers = element('th', { scope: 'col', className: 'number' }, 'Passages')
  const head = element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Source'), numbers))
  const table = element('table', {}, element('caption', { className: 'unseen' }, 'Sources'), head, rows)
  list.replaceChildren(...(first.total.sources > MANY ? [filter] : []), table, more, problem)
  add(first)

  function add({ sources, next }) {
    rows.append(...sources.map(rowOf))
    more.replaceChildren()
    if (next !== null) more.append(button(`Show ${PAGE} more`, () => void load({ after: next })))
  }
  async function load(parameters) {
    const asked = contains
    try {
      const found = await call(ofCollection('v1/sources', { limit: PAGE, contains, ...parameters }))
      // Something else was typed since then.
      if (asked !== contains) return
      if (parameters.after === undefined) rows.replaceChildren()
      showProblem(problem)
      add(found)
    } catch (error) {
      showProblem(problem, error, () => void load(parameters))
    }
  }
}

/** @param {(text: string) => void} changed called when typing pauses */
function nameFilter(changed) {
  const input = element('input', { id: 'name-has', type: 'search', autocomplete: 'off' })
  let timer
  input.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => changed(input.value.trim()), TYPING_MS)
  })
  return element('p', {}, element('label', { className: 'label', for: 'name-has' }, 'Show sources whose name has'), input)
}

function rowOf({ source, passages }) {
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, element('a', { href: address({ source }) }, nameOf(source))),
    element('td', { className: 'number' }, passages.toLocaleString('en')),
  )
}
