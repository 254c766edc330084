import { call, withQuery } from './api.js'
import { element, kept } from './dom.js'

const MOST = 1000
let list = []
let choice
let described = { key: null, feedback: false }

/** The collection to name in a request; undefined where the default one is meant. */
export const collection = () => choice

export const defaultName = () => list.find((one) => one.default)?.name ?? described.index?.table ?? 'passages'
export const collectionName = () => choice ?? defaultName()
export const allCollections = () => list

/** What the service said of itself and of the collection. */
export const service = () => described

/** Whether the key is an admin's. */
export const isAdmin = () => described.key?.role === 'admin'

/** A route of the collection. */
export const ofCollection = (path, parameters = {}) => withQuery(path, { ...parameters, collection: choice })

/** @param {string | undefined} name @param {boolean} remember whether whoever reads the page chose it */
export function choose(name, remember = false) {
  choice = name === undefined || name === list.find((one) => one.default)?.name ? undefined : name
  if (remember) kept(() => (choice === undefined ? localStorage.removeItem('collection') : localStorage.setItem('collection', choice)))
}

/** The choice of an address without one: the last that was made. */
export function chooseRemembered() {
  choose(kept(() => localStorage.getItem('collection')) ?? undefined)
}

/** Reads what there is, and drops a remembered choice that is there no more. @throws ServiceError, UnreachableError */
export async function loadCollections() {
  const { collections } = await call(`v1/collections?limit=${MOST}`)
  list = collections
  const remembered = kept(() => localStorage.getItem('collection'))
  if (remembered && !list.some(({ name }) => name === remembered)) {
    kept(() => localStorage.removeItem('collection'))
    if (choice === remembered && !new URLSearchParams(location.search).has('collection')) choice = undefined
  }
  choose(choice)
}

/** @throws ServiceError, UnreachableError */
export async function loadService() {
  const mine = choice
  const found = await call(ofCollection('v1/info'))
  if (mine === choice) described = found
  return described
}

/** A picker among several collections, or nothing. @param {() => void} changed called after another one was chosen */
export function picker(changed) {
  if (list.length < 2) return ''
  const options = list.map(({ name, state }) =>
    element(
      'option',
      { value: name, disabled: state !== 'ready', selected: name === collectionName() },
      state === 'ready' ? name : `${name} (cannot be searched)`,
    ),
  )
  const select = element('select', { 'aria-label': 'Collection' }, ...options)
  select.addEventListener('change', () => {
    choose(select.value, true)
    changed()
  })
  return element('label', { className: 'pick' }, 'in ', select)
}
