import { call } from './api.js'
import { cardOf, footOf, marked, openLink, placeLine, titleOf } from './card.js'
import { collectionName, isAdmin, loadService, ofCollection } from './collections.js'
import { confirmation } from './disclosure.js'
import { button, count, element, quiet } from './dom.js'
import { showProblem } from './problem.js'
import { nameOf, searchForm, showFound, tellNext } from './sources.js'
import { address, go, setTitle } from './views.js'

const PAGE = 50

/** The passages of one source in reading order, or those nearest to some words. */
export async function showSource({ source, find }, fill) {
  setTitle(nameOf(source))
  const total = quiet('Counting…')
  const actions = element('p', { className: 'actions' })
  const confirm = element('div')
  const list = element('div')
  const search = source === '' ? [] : [searchForm('Search in this source', find, { source })]
  fill(element('h2', {}, nameOf(source)), total, actions, confirm, ...search, list)
  const page = await call(ofCollection('v1/passages', { source, limit: PAGE }))
  if (page.total === 0) {
    for (const one of [actions, ...search]) one.remove()
    total.textContent = 'There are no passages of this source any more.'
    return
  }
  total.textContent = `${count(page.total, 'passage')}, in ${page.order === 'position' ? 'reading order' : 'no particular order'}.`
  const said = element('output')
  actions.append(...openLink(page.passages[0], said, { whole: true, className: 'button' }))
  if (source !== '') actions.append(element('a', { className: 'button', href: address({ ask: source }) }, 'Ask in this source'))
  const described = await loadService()
  if (described && isAdmin() && source !== '') addDelete(source, page.total, { actions, confirm })
  actions.append(said)
  if (find === undefined) return showAll(source, page, list)
  await showFound(find, list, { filter: { source }, source: false })
  list.append(element('p', { className: 'actions' }, element('a', { className: 'button', href: address({ source }) }, 'Show all passages')))
  return undefined
}

function showAll(source, first, list) {
  const heading = element('h3')
  const cards = element('ol', { className: 'cards' })
  const more = element('p', { className: 'actions' })
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  list.replaceChildren(heading, cards, more, problem)
  add(first)

  function add({ passages, total, next }) {
    const from = cards.children.length
    cards.append(...passages.map((one, i) => cardOf({ ...one, rank: from + i + 1 }, { source: false })))
    heading.textContent = `Passages 1 to ${cards.children.length.toLocaleString('en')} of ${total.toLocaleString('en')}`
    more.replaceChildren()
    if (next !== null) more.append(button(`Show ${PAGE} more`, () => void load(next)))
  }
  async function load(after) {
    try {
      add(await call(ofCollection('v1/passages', { source, limit: PAGE, after })))
      showProblem(problem)
    } catch (error) {
      showProblem(problem, error, () => void load(after))
    }
  }
}

function addDelete(source, total, { actions, confirm }) {
  const opener = button('Delete this source')
  actions.append(opener)
  const passages = count(total, 'passage')
  confirm.append(
    confirmation(opener, {
      words: `Delete the ${passages} of ${source} from ${collectionName()}? Only a snapshot brings them back.`,
      label: 'Delete this source',
      act: `Delete ${passages}`,
      keep: 'Keep them',
      work: async (panel) => {
        try {
          const headers = { 'idempotency-key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` }
          const { deleted } = await call(ofCollection('v1/passages/delete'), { json: { filter: { source } }, headers })
          tellNext(`${count(deleted, 'passage')} ${deleted === 1 ? 'was' : 'were'} deleted.`)
          await go(address({ view: 'sources' }))
        } catch (error) {
          const words = error.status === 409 ? 'A job is changing this collection. Try again when it has ended.' : error.message
          panel.querySelector('p').textContent = words
        }
      },
    }),
  )
}

/** One passage, marked where the address says. */
export async function showPassage({ id, mark }, fill) {
  fill(element('h2', {}, 'Passage'))
  const passage = await call(ofCollection(`v1/passages/${encodeURIComponent(id)}`)).catch((error) => {
    if (error.code !== 'not_found') throw error
    return undefined
  })
  const title = passage ? titleOf({ ...passage, rank: '' }).trim() : 'Passage'
  setTitle(title)
  if (passage === undefined) return fill(element('h2', {}, title), element('p', {}, 'This passage is not in here any more.'))
  const text = element('p', { className: 'passage' }, ...marked(passage.text, highlightsOf(mark, passage.text)))
  const card = element('li', {}, text, footOf(passage, { source: false, link: false }))
  return fill(element('h2', {}, title), placeLine(passage), element('ol', { className: 'cards' }, card))
}

/** The marked part of a text; none for offsets outside of it. */
function highlightsOf(mark, text) {
  const [, start, end] = (/^(\d+)-(\d+)$/.exec(mark) ?? []).map(Number)
  return start < end && end <= text.length ? [{ start, end, sentence: { start, end } }] : []
}
