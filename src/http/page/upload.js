import { allCollections, collectionName, ofCollection } from './collections.js'
import { confirmation } from './disclosure.js'
import { announce, button, count, element, quiet } from './dom.js'
import { showProblem } from './problem.js'
import { sendForm } from './send-form.js'

const MOST_FILES = 2000

/** "41 MB", of bytes. */
export function size(bytes) {
  const [unit, name] = bytes < 1e6 ? [1e3, 'kB'] : bytes < 1e9 ? [1e6, 'MB'] : [1e9, 'GB']
  return `${Math.round(bytes / unit).toLocaleString('en')} ${name}`
}

/** The buttons that choose files or a folder. */
function chooser() {
  let chosen = []
  const shown = element('span')
  const inputs = [{ id: 'files' }, { id: 'folder', webkitdirectory: true }].map((properties) =>
    element('input', { type: 'file', hidden: true, multiple: true, ...properties }),
  )
  const [files, folder] = inputs
  for (const input of inputs)
    input.addEventListener('change', () => {
      chosen = [...input.files]
      const bytes = chosen.reduce((sum, file) => sum + file.size, 0)
      shown.textContent = `${count(chosen.length, 'file')}, ${size(bytes)}`
    })
  const buttons = [button('Choose files', () => files.click())]
  if ('webkitdirectory' in folder) buttons.push(button('Choose a folder', () => folder.click()))
  const clear = () => {
    chosen = []
    shown.textContent = ''
  }
  return { part: element('p', { className: 'actions' }, ...buttons, shown, ...inputs), files: () => chosen, clear }
}

/** The options of a job; `query` is what of them was chosen. */
function jobOptions() {
  const label = element('input', { autocomplete: 'off', maxLength: 500 })
  const missing = element('input', { type: 'checkbox' })
  const replace = element('input', { type: 'checkbox', id: 'replace' })
  const part = element(
    'details',
    {},
    element('summary', {}, 'Options'),
    element('label', { className: 'field' }, 'Label, in front of the sources ', label),
    element('label', { className: 'field' }, missing, ' Delete what earlier uploads of this label had and this one has not'),
    element('label', { className: 'field' }, replace, ' In place of all passages that are there'),
  )
  const flag = (input) => input.checked || undefined
  return { part, query: () => ({ label: label.value.trim() || undefined, delete_missing: flag(missing), replace: flag(replace) }) }
}

/** The form that adds documents. @param {(job: object) => void} onJob called with the job of an upload */
export function uploadForm(onJob) {
  const { part: choice, files, clear } = chooser()
  const { part: options, query } = jobOptions()
  const add = element('button', { className: 'go' }, `Add to ${collectionName()}`)
  const confirm = element('div')
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  const progress = element('div')
  const about = quiet('Documents, tables (.tsv, .csv, .jsonl, .json, .parquet) and archives.')
  const actions = element('p', { className: 'actions' }, add)
  const form = element('form', { id: 'upload' }, about, choice, options, actions, confirm, problem, progress)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    confirm.replaceChildren()
    showProblem(problem, problemOf(files()))
    if (problem.hidden) void (query().replace ? confirmReplace(confirm, upload) : upload())
  })
  return form

  async function upload() {
    showProblem(problem)
    add.disabled = true
    const job = await sendFiles(files(), query(), progress).catch((error) => error)
    progress.replaceChildren()
    add.disabled = false
    if (job.name === 'AbortError') return showProblem(problem, new Error('Cancelled.'))
    if (job instanceof Error) return showProblem(problem, job, () => void upload())
    form.reset()
    clear()
    announce(`${job.source.name} was sent.`)
    return onJob(job)
  }
}

function problemOf({ length }) {
  if (length === 0) return new Error('Choose files first.')
  return length > MOST_FILES ? new Error('A form takes 2,000 files. Send the folder as an archive (.zip).') : undefined
}

/** Sends files under their paths in their folder. @param {HTMLElement} progress shows how far it is @returns the job */
function sendFiles(files, query, progress) {
  const body = new FormData()
  for (const file of files) body.append('file', file, file.webkitRelativePath || file.name)
  const cancel = new AbortController()
  const bar = element('progress', { max: 1, value: 0, 'aria-label': 'Sent' })
  const told = element('span')
  progress.replaceChildren(
    bar,
    element(
      'p',
      { className: 'actions' },
      told,
      button('Cancel', () => cancel.abort()),
    ),
  )
  const onProgress = (loaded, total) => {
    bar.value = loaded / total
    told.textContent = `Sending, ${size(loaded)} of ${size(total)}`
  }
  return sendForm(ofCollection('v1/admin/index-jobs', query), body, { signal: cancel.signal, onProgress })
}

/** Asks once more before all passages are replaced. */
function confirmReplace(place, upload) {
  const present = allCollections().find(({ name }) => name === collectionName())?.passages ?? 0
  const passages = count(present, 'passage')
  const asked = confirmation(element('button'), {
    words: `Replace all ${passages} of ${collectionName()}?`,
    label: 'Replace all passages',
    act: `Replace ${passages}`,
    keep: 'Keep them',
    work: () => {
      place.replaceChildren()
      return upload()
    },
  })
  place.replaceChildren(asked)
  asked.open()
}
