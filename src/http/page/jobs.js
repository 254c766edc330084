import { call, fetchFile } from './api.js'
import { collectionName } from './collections.js'
import { announce, button, count, element, quiet } from './dom.js'
import { showProblem } from './problem.js'
import { day } from './times.js'

const POLL_MS = 1000
const SHOWN = 10
const LEFT_OUT = 3
const REPORT_PAGE = 200
const RUNNING = ['queued', 'planning', 'indexing', 'verifying']
const STATES = {
  queued: 'Waiting',
  planning: 'Reading',
  indexing: 'Indexing',
  verifying: 'Checking',
  done: 'Done',
  failed: 'Failed',
  stopped: 'Stopped',
  cancelled: 'Cancelled',
}
const addressOf = ({ id }) => `v1/admin/index-jobs/${id}`
const isRunning = ({ state }) => RUNNING.includes(state)

/**
 * The jobs of the collection, newest first, followed while one runs and the tab is seen.
 * @param {object[]} first as they are now
 * @param {() => void} onEnd called when one has ended
 * @returns the list, and what puts a job that was just sent on top
 */
export function jobList(first, onEnd) {
  const list = element('ol', { className: 'cards' })
  const more = element('p', { className: 'actions' })
  const none = quiet('No jobs yet.')
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  const part = element('div', {}, none, list, more, problem)
  const cards = new Map()
  let jobs = []
  let shown = SHOWN
  let sent
  let timer

  const change = async (url, options) => {
    try {
      await call(url, options)
      showProblem(problem)
    } catch (error) {
      showProblem(problem, error)
    }
    void poll()
  }
  const show = (all) => {
    const name = collectionName()
    const next = all.filter(({ table }) => table === name).reverse()
    for (const job of next)
      tell(
        jobs.find(({ id }) => id === job.id),
        job,
        onEnd,
      )
    jobs = next
    none.hidden = jobs.length > 0
    const items = jobs.slice(0, shown).map((job) => {
      const state = JSON.stringify(job)
      const known = cards.get(job.id)
      if (known?.state === state) return known.item
      const item = jobCard(job, { isOpen: job.id === sent, change })
      if (known) keepPlace(known.item, item)
      cards.set(job.id, { state, item })
      return item
    })
    const focused = document.activeElement
    list.replaceChildren(...items)
    if (list.contains(focused)) focused.focus({ preventScroll: true })
    more.replaceChildren(...(jobs.length > shown ? [button('Show older', showOlder)] : []))
  }
  const showOlder = () => {
    shown += SHOWN
    void poll()
  }
  const poll = async () => {
    clearTimeout(timer)
    if (!part.isConnected) return document.removeEventListener('visibilitychange', follow)
    try {
      show((await call('v1/admin/index-jobs')).jobs)
      showProblem(problem)
    } catch (error) {
      showProblem(problem, error, () => void poll())
    }
    return follow()
  }
  const follow = () => {
    clearTimeout(timer)
    if (jobs.some(isRunning) && document.visibilityState === 'visible') timer = setTimeout(() => void poll(), POLL_MS)
  }
  document.addEventListener('visibilitychange', follow)
  show(first)
  follow()
  const add = (job) => {
    sent = job.id
    void poll()
  }
  return { part, add }
}

/** Tells a screen reader of each quarter of a job and of its end. */
function tell(before, job, onEnd) {
  if (before === undefined || !isRunning(before)) return
  const quarter = (one) => Math.floor(4 * (shareOf(one) ?? 0))
  if (!isRunning(job)) {
    announce(`${job.source.name}: ${stateOf(job)}. ${countsOf(job)}`)
    onEnd()
  } else if (job.state === 'indexing' && quarter(job) > quarter(before)) announce(`${job.source.name}: ${25 * quarter(job)} %.`)
}

/** What was open, and where the focus was, stays so in a card that is made anew. */
function keepPlace(old, item) {
  const details = item.querySelector('details')
  if (details) details.open ||= old.querySelector('details')?.open ?? false
  if (!old.contains(document.activeElement)) return
  const text = document.activeElement.textContent
  const same = [...item.querySelectorAll('button, summary')].find((one) => one.textContent === text)
  queueMicrotask(() => same?.focus({ preventScroll: true }))
}

/** Share of the present stage; undefined where it is not known. */
function shareOf({ state, stage, counters: { accepted, committed } }) {
  if (state === 'indexing') return accepted > 0 ? committed / accepted : undefined
  return stage?.share
}

function stateOf({ state, eta_s: eta }) {
  return state === 'indexing' && eta !== null ? `Indexing, ${Math.ceil(eta)} s left` : STATES[state]
}

function countsOf({ state, files, counters: { accepted, committed, rejected } }) {
  if (state === 'indexing') return `${committed.toLocaleString('en')} of ${count(accepted, 'passage')}`
  if (files === undefined) return `${count(accepted, 'passage')}${rejected > 0 ? `; ${count(rejected, 'line')} rejected` : ''}`
  return `${count(files.indexed, 'file')}, ${count(accepted, 'passage')}${rejected > 0 ? `; ${rejected.toLocaleString('en')} left out` : ''}`
}

function jobCard(job, { isOpen, change }) {
  const { source, state, created_at: created, error, warnings } = job
  const title = element(
    'p',
    { className: 'between' },
    element('span', { className: 'title' }, source.name),
    element('span', {}, stateOf(job)),
  )
  const bar = element('progress', { 'aria-label': `${source.name}: ${STATES[state]}` })
  const share = shareOf(job)
  if (share !== undefined) bar.value = share
  const time = isRunning(job) ? `started ${day(created).replace(/^today /, '')}` : day(created)
  const counts = element(
    'p',
    { className: 'between quiet' },
    element('span', {}, state === 'queued' ? '' : countsOf(job)),
    element('span', {}, time),
  )
  const said = [error?.message, ...warnings].filter(Boolean).map((text) => quiet(text))
  const cancel = button('Cancel', () => void change(addressOf(job), { method: 'DELETE' }))
  const resume = button('Resume', () => void change(`${addressOf(job)}/resume`, { method: 'POST' }))
  const actions = [...(state === 'stopped' ? [resume] : []), ...(isRunning(job) || state === 'stopped' ? [cancel] : [])]
  return element(
    'li',
    {},
    title,
    ...(isRunning(job) ? [bar] : []),
    counts,
    ...said,
    ...(actions.length > 0 ? [element('p', { className: 'actions' }, ...actions)] : []),
    ...(job.counters.rejected > 0 && job.recent_rejects.length > 0 ? [leftOut(job, isOpen)] : []),
  )
}

/** What was not indexed, and why: the latest lines, all of them on demand. */
function leftOut(job, open) {
  const rows = element('ul', { className: 'rows' }, ...job.recent_rejects.slice(0, LEFT_OUT).map(rejectRow))
  const actions = element('p', { className: 'actions' })
  const said = element('output')
  const { rejected } = job.counters
  const showAll = async () => {
    const report = await readReport()
    const all = report?.split('\n').filter(Boolean).map(JSON.parse)
    if (all === undefined) return
    rows.replaceChildren()
    const next = () => {
      rows.append(...all.slice(rows.children.length, rows.children.length + REPORT_PAGE).map(rejectRow))
      actions.replaceChildren(...(rows.children.length < all.length ? [button(`Show ${REPORT_PAGE} more`, next)] : []), save, said)
    }
    next()
  }
  const readReport = () =>
    fetchFile(`${addressOf(job)}/report`)
      .then((file) => file.text())
      .catch((error) => void (said.value = error.message))
  const save = button('Save the report', async () => {
    const report = await readReport()
    if (report === undefined) return
    const href = URL.createObjectURL(new Blob([report], { type: 'application/x-ndjson' }))
    element('a', { href, download: `report-${job.id}.jsonl` }).click()
    URL.revokeObjectURL(href)
  })
  actions.append(...(rejected > LEFT_OUT ? [button(`Show all ${rejected.toLocaleString('en')}`, () => void showAll())] : []), save, said)
  return element('details', { open }, element('summary', {}, 'What was left out'), rows, actions)
}

function rejectRow({ file, line, detail }) {
  const place = [file, line > 0 ? `line ${line.toLocaleString('en')}` : ''].filter(Boolean).join(', ')
  return element('li', {}, element('span', {}, place), element('span', { className: 'quiet' }, detail))
}
