import { call } from './api.js'
import { byId, showProblem } from './dom.js'

const POLL_MS = 500
/** Indexes the chosen files when the form is sent. @param {() => Promise<void>} onIndexed */
export function watchUpload(onIndexed) {
  byId('upload').addEventListener('submit', (event) => {
    event.preventDefault()
    showProblem('upload-problem')
    index()
      .then(onIndexed)
      .catch((error) => {
        byId('job').value = ''
        showProblem('upload-problem', error)
      })
  })
}

async function index() {
  const { files } = byId('corpus')
  if (files.length === 0) throw new Error('Choose a file first.')
  const body = new FormData()
  for (const file of files) body.append('file', file)
  const address = `v1/admin/index-jobs${byId('replace').checked ? '?replace=true' : ''}`
  byId('job').value = 'uploading'
  let job = await call(address, { method: 'POST', body })
  byId('progress').hidden = false
  while (['queued', 'planning', 'indexing', 'verifying'].includes(job.state)) {
    showJob(job)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    job = await call(`v1/admin/index-jobs/${job.id}`)
  }
  showJob(job)
}

function showJob({ state, counters: { accepted, committed, rejected }, eta_s: eta, error }) {
  byId('progress').value = accepted === 0 ? 0 : committed / accepted
  const left = eta === null || state === 'done' ? '' : `, ${eta} s left`
  byId('job').value = `${state}: ${committed} of ${accepted} passages, ${rejected} rejected${left}${error ? `. ${error.message}` : ''}`
}
