import { byId, kept } from './dom.js'

/** Said of a wrong key. */
export const UNKNOWN = 'This key is not known here. Check it, or ask whoever gave it to you.'
/** Said of a key that may not change anything. */
export const NEEDS_ADMIN = 'Changing what is in here needs an admin key.'
export const FORBIDDEN = `Your key may ask questions. ${NEEDS_ADMIN}`
let current = kept(() => sessionStorage.getItem('key')) ?? ''
/** Requests that wait for a key: all of them are sent again with it. */
let waiting
let onChange = () => undefined

/** The key of this tab; empty without one. */
export const key = () => current

/** Keeps a key for the tab; an empty one forgets it. */
export function setKey(value) {
  current = value
  kept(() => (value === '' ? sessionStorage.removeItem('key') : sessionStorage.setItem('key', value)))
  byId('key').value = value
  byId('forget-key').hidden = value === ''
  onChange()
}

/** Opens the gate. @param {string} refused the key that was sent @returns resolves when another key is there */
export function keyNeeded(refused) {
  if (refused !== current) return Promise.resolve()
  if (waiting) return waiting.entered
  waiting = {}
  waiting.entered = new Promise((resolve) => (waiting.done = resolve))
  document.body.classList.add('behind')
  say(refused === '' ? '' : UNKNOWN)
  byId('gate-key').focus()
  return waiting.entered
}

function say(text) {
  byId('gate-problem').hidden = text === ''
  byId('gate-problem').textContent = text
}

/** What is wrong with a key; empty where it is good. @param {string} route that needs it */
export async function problemOf(tried, route = 'v1/info') {
  const response = await fetch(route, { headers: { authorization: `Bearer ${tried}` } }).catch(() => undefined)
  if (response === undefined) return 'The service cannot be reached.'
  if (response.status === 429) return `Too many wrong keys. Try again in ${response.headers.get('retry-after') ?? 60} s.`
  if (response.status === 403) return FORBIDDEN
  return response.status === 401 ? UNKNOWN : ''
}

async function enter(event) {
  event.preventDefault()
  const field = byId('gate-key')
  const tried = field.value.trim()
  if (tried === '') return field.focus()
  const problem = await problemOf(tried)
  say(problem)
  if (problem !== '') {
    if (problem === UNKNOWN) field.value = ''
    return field.focus()
  }
  const { done } = waiting
  waiting = undefined
  field.value = ''
  document.body.classList.remove('behind')
  setKey(tried)
  return done()
}

/** Follows the fields for the key. @param {() => void} changed called with every other key */
export function watchKey(changed) {
  byId('key').value = current
  byId('forget-key').hidden = current === ''
  onChange = changed
  byId('gate').addEventListener('submit', enter)
  byId('key').addEventListener('change', () => setKey(byId('key').value.trim()))
  byId('forget-key').addEventListener('click', () => setKey(''))
}
