import { call, inAddress } from './api.js'
import { refresh } from './about.js'
import { allCollections, collectionName, loadCollections, ofCollection, picker } from './collections.js'
import { confirmation } from './disclosure.js'
import { announce, button, count, element, fieldForm, quiet } from './dom.js'
import { FORBIDDEN, key, NEEDS_ADMIN, problemOf, setKey } from './gate.js'
import { JobList } from './jobs.js'
import { showProblem } from './problem.js'
import { date, day } from './times.js'
import { size, uploadForm } from './upload.js'
import { address, go, setTitle } from './views.js'

const JOBS = 'v1/admin/index-jobs'
const MAKE_KEYS = ['Keys are made and revoked on the command line: ', 'npx cepe keys add NAME', ', ', 'npx cepe keys revoke NAME', '.']
const REPLICA = 'This service is a read-only copy. Documents are added where it copies from.'

/** Adds and deletes what is in here, for the holder of an admin key. */
export async function showManage(_, fill) {
  setTitle('Manage')
  fill(element('h2', {}, 'Manage'))
  const answer = await call(JOBS, { gate: false }).catch((error) => error)
  if (answer instanceof Error) return fill(element('h2', {}, 'Manage'), ...refusal(answer))
  await loadCollections()
  const heading = element(
    'div',
    { className: 'between over' },
    element('h2', {}, 'Manage'),
    picker(() => void go(address({ view: 'manage' }))),
  )
  const collections = section('Collections', showSets)
  const jobs = new JobList(answer.jobs, () => {
    void refresh()
    void collections.load()
  })
  const parts = [
    section('Add documents', () => [uploadForm((job) => jobs.add(job))]),
    section('Jobs', () => [jobs.part]),
    collections,
    section(`Snapshots of ${collectionName()}`, showSnapshots),
    section('Keys', showKeys),
  ]
  fill(element('div', { className: 'manage' }, heading, ...parts.map(({ part }) => part)))
  return Promise.all(parts.map(({ load }) => load()))
}

/** What stands there without an admin key. @throws what another key does not help against */
function refusal(error) {
  if (error.status === 404) return [element('p', {}, REPLICA)]
  if (error.status === 403 && /disabled/.test(error.message)) return [element('p', {}, error.message)]
  if (![401, 403].includes(error.status)) throw error
  const form = fieldForm({
    label: 'Admin key',
    action: 'Continue',
    className: 'go',
    type: 'password',
    onsubmit: async (tried, { input, problem }) => {
      const wrong = tried === '' ? '' : await problemOf(tried, JOBS)
      if (tried !== '' && wrong === '') return setKey(tried)
      showProblem(problem, wrong ? new Error(wrong) : undefined)
      input.value = ''
      return input.focus()
    },
  })
  return [element('p', {}, key() === '' || error.status === 401 ? NEEDS_ADMIN : FORBIDDEN), form]
}

let made = 0

/** A part of the view that is read by itself. @param {(again: () => Promise<void>) => Node[] | Promise<Node[]>} content */
function section(title, content) {
  const id = `part-${++made}`
  const body = element('div')
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  const load = async () => {
    try {
      body.replaceChildren(...(await content(load)))
      showProblem(problem)
    } catch (error) {
      showProblem(problem, error, () => void load())
    }
  }
  return { part: element('section', { 'aria-labelledby': id }, element('h3', { id }, title), body, problem), load }
}

/** A row with its name, details and buttons; what a button asks stands below. */
function row(name, details, ...actions) {
  const item = element('li', {}, element('span', {}, name), element('span', { className: 'quiet' }, details))
  for (const { text, ...asked } of actions) {
    const opener = button(text, undefined, { className: 'plain', 'aria-label': `${text} ${name}` })
    item.append(opener, confirmation(opener, { ...asked, label: `${text} ${name}` }))
  }
  // Buttons stand together, before what they ask.
  item.append(...item.querySelectorAll('[role=group]'))
  return item
}

/** The work of a confirmation: calls a route and shows the part again, or says why not. */
function changing(url, options, done, conflict) {
  return async (panel) => {
    try {
      await call(url, options)
      await done()
    } catch (error) {
      panel.querySelector('p').textContent = error.status === 409 && conflict ? conflict : error.message
    }
  }
}

/** A form that makes something of a name. */
function nameForm(label, action, make) {
  return fieldForm({
    label,
    action,
    maxLength: 64,
    onsubmit: async (name, { input, problem }) => {
      if (name === '') return input.focus()
      return make(name).catch((error) => showProblem(problem, error))
    },
  })
}

async function showSets(again) {
  await loadCollections()
  void refresh()
  const rows = allCollections().map(({ name, passages, default: isDefault, problem }) => {
    const counted = count(passages ?? 0, 'passage')
    const details = problem ? problem.message : `${counted}${isDefault ? ', the default' : ''}`
    const remove = {
      text: 'Delete',
      words: `Delete ${name} with its ${counted} and its snapshots?`,
      act: `Delete ${name}`,
      keep: 'Keep it',
      work: changing(
        `v1/collections/${name}`,
        { method: 'DELETE' },
        () => (name === collectionName() ? go('./?view=manage') : again()),
        'A job of it has not ended.',
      ),
    }
    return row(name, details, ...(isDefault ? [] : [remove]))
  })
  const form = nameForm('New collection', 'Create', async (name) => {
    await call(`v1/collections/${inAddress(name)}`, { method: 'PUT' })
    await go(address({ view: 'manage' }))
    announce(`${name} was created.`)
  })
  return [element('ul', { className: 'rows' }, ...rows), form]
}

async function showSnapshots(again) {
  const name = collectionName()
  const { snapshots } = await call(ofCollection('v1/admin/snapshots'))
  const take = (snapshot) => call(ofCollection('v1/admin/snapshots'), { json: { name: snapshot } })
  const form = nameForm('New snapshot', 'Take it', async (snapshot) => {
    await take(snapshot)
    await again()
    announce(`${snapshot} was taken.`)
  })
  const rows = snapshots.toReversed().map(({ name: snapshot, created_at: at, rows: passages, bytes, problem }) => {
    const url = `v1/admin/snapshots/${encodeURIComponent(snapshot)}`
    const restore = {
      text: 'Restore',
      words: `Put ${snapshot} in the place of ${name}? What was added or deleted since then is gone.`,
      act: `Restore ${snapshot}`,
      keep: 'Leave it',
      first: button('Take a snapshot first', () => form.input.focus()),
      work: changing(ofCollection(`${url}/restore`), { method: 'POST' }, async () => {
        await refresh()
        await go(address({ view: 'manage' }))
        announce(`${snapshot} was restored.`)
      }),
    }
    const remove = {
      text: 'Delete',
      words: `Delete the snapshot ${snapshot}?`,
      act: `Delete ${snapshot}`,
      keep: 'Keep it',
      work: changing(ofCollection(url), { method: 'DELETE' }, again),
    }
    return row(snapshot, problem?.message ?? `${day(at)}; ${count(passages, 'passage')}; ${size(bytes)} of its own`, restore, remove)
  })
  return [...(rows.length > 0 ? [element('ul', { className: 'rows' }, ...rows)] : []), form]
}

async function showKeys() {
  const sentence = quiet(...MAKE_KEYS.map((text) => (text.startsWith('npx') ? element('code', {}, text) : text)))
  // A key that is bound to collections sees no others.
  const { keys } = await call('v1/admin/keys').catch((error) => {
    if (![403, 404].includes(error.status)) throw error
    return { keys: [] }
  })
  const rows = keys.map((one) => row(one.name, keyDetails(one)))
  return [...(rows.length > 0 ? [element('ul', { className: 'rows' }, ...rows)] : []), sentence]
}

function keyDetails({ role, collections, revoked_at: revoked, questions_today: today, questions_per_day: most }) {
  if (revoked) return `revoked ${date(revoked)}`
  const may =
    role === 'admin'
      ? `admin${collections ? ` of ${collections.join(', ')}` : ''}`
      : `asks${collections ? ` in ${collections.join(', ')}` : ''}`
  return `${may}; ${most === undefined ? count(today, 'question') : `${today.toLocaleString('en')} of ${count(most, 'question')}`} today`
}
