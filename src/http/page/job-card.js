import { fetchFile } from './api.js'
import { button, count, element, quiet } from './dom.js'
import { day } from './times.js'

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
export const addressOf = ({ id }) => `v1/admin/index-jobs/${id}`
export const isRunning = ({ state }) => RUNNING.includes(state)

/** Share of the present stage; undefined where it is not known. */
export function shareOf({ state, stage, counters: { accepted, committed } }) {
  if (state === 'indexing') return accepted > 0 ? committed / accepted : undefined
  return stage?.share
}

export function stateOf({ state, eta_s: eta }) {
  return state === 'indexing' && eta !== null ? `Indexing, ${Math.ceil(eta)} s left` : STATES[state]
}

export function countsOf({ state, files, counters: { accepted, committed, rejected } }) {
  if (state === 'indexing') return `${committed.toLocaleString('en')} of ${count(accepted, 'passage')}`
  if (files === undefined) return `${count(accepted, 'passage')}${rejected > 0 ? `; ${count(rejected, 'line')} rejected` : ''}`
  return `${count(files.indexed, 'file')}, ${count(accepted, 'passage')}${rejected > 0 ? `; ${rejected.toLocaleString('en')} left out` : ''}`
}

/** @param {{isOpen: boolean, change: (url: string, options: object) => void}} shown whether what was left out is unfolded; what the buttons do */
export function jobCard(job, { isOpen, change }) {
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
    element('span', {}, isRunning(job) && job.counters.accepted === 0 ? '' : countsOf(job)),
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
  const said = element('output')
  const { rejected } = job.counters
  const all = button(`Show all ${rejected.toLocaleString('en')}`, async () => {
    const report = await readReport()
    if (report === undefined) return
    rows.replaceChildren()
    showNext(report.split('\n').filter(Boolean).map(JSON.parse))
  })
  const save = button('Save the report', async () => {
    const report = await readReport()
    if (report === undefined) return
    const href = URL.createObjectURL(new Blob([report], { type: 'application/x-ndjson' }))
    element('a', { href, download: `report-${job.id}.jsonl` }).click()
    URL.revokeObjectURL(href)
  })
  const actions = element('p', { className: 'actions' }, ...(rejected > LEFT_OUT ? [all] : []), save, said)
  return element('details', { open }, element('summary', {}, 'What was left out'), rows, actions)

  function showNext(rejects) {
    rows.append(...rejects.slice(0, REPORT_PAGE).map(rejectRow))
    const rest = rejects.slice(REPORT_PAGE)
    actions.replaceChildren(...(rest.length > 0 ? [button(`Show ${REPORT_PAGE} more`, () => showNext(rest))] : []), save, said)
  }
  function readReport() {
    return fetchFile(`${addressOf(job)}/report`)
      .then((file) => file.text())
      .catch((error) => void (said.value = error.message))
  }
}

function rejectRow({ file, line, detail }) {
  const place = [file, line > 0 ? `line ${line.toLocaleString('en')}` : ''].filter(Boolean).join(', ')
  return element('li', {}, element('span', {}, place), element('span', { className: 'quiet' }, detail))
}
