import { errorOf, UnreachableError } from './api.js'
import { allCollections, collectionName, ofCollection } from './collections.js'
import { confirmation } from './disclosure.js'
import { announce, button, count, element, quiet } from './dom.js'
import { key } from './gate.js'
import { showProblem } from './problem.js'

const MOST_FILES = 2000
const ACCEPTED = '.txt,.md,.markdown,.html,.htm,.pdf,.docx,.epub,.tsv,.csv,.jsonl,.ndjson,.json,.parquet,.gz,.zip,.tar'

/** "41 MB", of bytes. */
export function size(bytes) {
  const [unit, name] = bytes < 1e6 ? [1e3, 'kB'] : bytes < 1e9 ? [1e6, 'MB'] : [1e9, 'GB']
  return `${Math.round(bytes / unit).toLocaleString('en')} ${name}`
}

/** Sends a form with its progress, which fetch does not tell. @throws ServiceError, UnreachableError; AbortError once aborted */
function send(url, form, { signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', url)
    if (key()) request.setRequestHeader('authorization', `Bearer ${key()}`)
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded, total))
    request.addEventListener('error', () => reject(new UnreachableError()))
    request.addEventListener('abort', () => reject(new DOMException('Cancelled.', 'AbortError')))
    request.addEventListener('load', () => {
      const { status, response } = request
      if (status < 400) resolve(response)
      else reject(errorOf(status, response, request.getResponseHeader('retry-after')))
    })
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}

/** The form that adds documents. @param {(job: object) => void} onJob called with the job of an upload */
export function uploadForm(onJob) {
  let chosen = []
  const shown = element('span')
  const field = (properties) => element('input', { type: 'file', hidden: true, multiple: true, ...properties })
  const files = field({ id: 'files', accept: ACCEPTED })
  const folder = field({ id: 'folder', webkitdirectory: true })
  const choose = (input) => {
    chosen = [...input.files]
    const bytes = chosen.reduce((sum, file) => sum + file.size, 0)
    shown.textContent = chosen.length === 0 ? '' : `${count(chosen.length, 'file')}, ${size(bytes)}`
    showProblem(problem)
  }
  for (const input of [files, folder]) input.addEventListener('change', () => choose(input))

  const label = element('input', { id: 'label', autocomplete: 'off', maxLength: 500 })
  const missing = element('input', { id: 'delete-missing', type: 'checkbox' })
  const replace = element('input', { id: 'replace', type: 'checkbox' })
  const options = element(
    'details',
    {},
    element('summary', {}, 'Options'),
    element('label', { className: 'field' }, 'Label, in front of the sources ', label),
    element('label', { className: 'field' }, missing, ' Delete what earlier uploads of this label had and this one has not'),
    element('label', { className: 'field' }, replace, ' In place of all passages that are there'),
  )
  const add = element('button', { className: 'go' }, `Add to ${collectionName()}`)
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  const progress = element('div', { hidden: true })
  const confirm = element('div')
  const canFolder = 'webkitdirectory' in folder
  const form = element(
    'form',
    { id: 'upload' },
    quiet('Documents, tables (.tsv, .csv, .jsonl, .json, .parquet) and archives.'),
    element(
      'p',
      { className: 'actions' },
      button('Choose files', () => files.click()),
      ...(canFolder ? [button('Choose a folder', () => folder.click())] : []),
      shown,
      files,
      folder,
    ),
    options,
    element('p', { className: 'actions' }, add),
    confirm,
    problem,
    progress,
  )

  const upload = async () => {
    const body = new FormData()
    for (const file of chosen) body.append('file', file, file.webkitRelativePath || file.name)
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
    progress.hidden = false
    add.disabled = true
    const onProgress = (loaded, total) => {
      bar.value = loaded / total
      told.textContent = `Sending, ${size(loaded)} of ${size(total)}`
    }
    const flag = (input) => (input.checked ? true : undefined)
    const query = { label: label.value.trim() || undefined, delete_missing: flag(missing), replace: flag(replace) }
    try {
      const job = await send(ofCollection('v1/admin/index-jobs', query), body, { signal: cancel.signal, onProgress })
      form.reset()
      choose(files)
      announce(`${job.source.name}: sent.`)
      onJob(job)
    } catch (error) {
      showProblem(problem, error.name === 'AbortError' ? new Error('Cancelled.') : error, () => void upload())
    } finally {
      progress.hidden = true
      add.disabled = false
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    showProblem(problem)
    confirm.replaceChildren()
    if (chosen.length === 0) return showProblem(problem, new Error('Choose files first.'))
    if (chosen.length > MOST_FILES)
      return showProblem(problem, new Error('A form takes 2,000 files. Send the folder as an archive (.zip).'))
    return replace.checked ? askReplace() : void upload()
  })
  const askReplace = () => {
    const present = allCollections().find(({ name }) => name === collectionName())?.passages ?? 0
    const asked = confirmation(element('button'), {
      words: `Replace all ${count(present, 'passage')} of ${collectionName()}?`,
      label: 'Replace all passages',
      act: `Replace ${count(present, 'passage')}`,
      keep: 'Keep them',
      work: () => {
        confirm.replaceChildren()
        return upload()
      },
    })
    confirm.replaceChildren(asked)
    asked.open()
  }
  return form
}
