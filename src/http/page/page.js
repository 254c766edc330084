import { refresh } from './about.js'
import { cancel, leaveAsk, showAsk, watchAsk } from './ask.js'
import { choose, chooseRemembered, collection } from './collections.js'
import { watchDocument } from './document.js'
import { byId, element } from './dom.js'
import { watchThumbs } from './feedback.js'
import { watchKey } from './gate.js'
import { showManage } from './manage.js'
import { showProblem } from './problem.js'
import { showPassage, showSource } from './source.js'
import { showSources } from './sources.js'
import { address, focusHeading, go, questionAddress, watchAddress } from './views.js'

const VIEWS = { ask: showAsk, answer: showAsk, sources: showSources, source: showSource, passage: showPassage, manage: showManage }
const ASK = ['ask', 'answer']

let started = false

/** Shows the view of the address. */
async function show(view) {
  const isAsk = ASK.includes(view.view)
  const before = collection()
  if (view.view === 'ask' && view.collection === undefined) chooseRemembered()
  else choose(view.collection)
  if (!started || collection() !== before) void refresh()
  started = true
  byId('asking').hidden = !isAsk
  byId('view').hidden = isAsk
  for (const id of ['overview', 'advanced', 'earlier']) byId(id).hidden = !isAsk
  for (const id of ['browse', 'manage-link']) byId(id).href = address({ view: id === 'browse' ? 'sources' : 'manage' })
  for (const link of document.querySelectorAll('.browses')) link.href = address({ view: 'sources' })
  byId('manage-link').hidden = view.view === 'manage'
  if (isAsk) return VIEWS[view.view](view)
  leaveAsk()
  document.body.classList.remove('asked')
  return showOther(view)
}

/** Shows a view other than the question's. Where it cannot be read, what is there stays. */
async function showOther(view) {
  const back = element('p', { className: 'back' }, element('a', { href: questionAddress() }, 'Back to the question'))
  if (['source', 'passage'].includes(view.view)) back.append(' · ', element('a', { href: address({ view: 'sources' }) }, 'What is in here'))
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  const body = element('section')
  byId('view').replaceChildren(back, body, problem)
  try {
    await VIEWS[view.view](view, (...children) => {
      body.replaceChildren(...children)
      focusHeading(body)
    })
  } catch (error) {
    showProblem(problem, error, () => void show(view))
  }
}

document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '')
  if (event.key === '/' && !typing && !byId('asking').hidden) {
    event.preventDefault()
    byId('question').focus()
    byId('question').select()
  } else if (event.key === 'Escape') cancel()
})
addEventListener('pagehide', cancel)
watchDocument()
watchThumbs()
watchAsk()
watchKey(() => {
  void refresh()
  if (!byId('view').hidden) void go(location.href)
})
void watchAddress(show)
