import { collection } from './collections.js'
import { button, byId, element, kept } from './dom.js'

const MOST_REMEMBERED = 50

/** Questions that this browser keeps, the last one first: texts, or texts with their collection. */
function remembered() {
  const list = kept(() => JSON.parse(localStorage.getItem('questions') ?? '[]'))
  const entries = Array.isArray(list) ? list.map((one) => (typeof one === 'string' ? { question: one } : one)) : []
  return entries.filter((one) => typeof one?.question === 'string')
}

export const lastRemembered = () => remembered()[0]?.question ?? ''

export function remember(question) {
  const mine = { question, collection: collection() }
  const others = remembered().filter((one) => one.question !== question || one.collection !== mine.collection)
  const list = [mine, ...others].slice(0, MOST_REMEMBERED).map((one) => (one.collection ? one : one.question))
  kept(() => localStorage.setItem('questions', JSON.stringify(list)))
}

/** @param {(entry: {question: string, collection?: string}) => void} again asks one of them once more */
export function showHistory(again) {
  const list = remembered()
  byId('history').replaceChildren(
    ...list.map((one) =>
      element(
        'li',
        {},
        button(one.question, () => again(one), { className: '', title: one.question }),
      ),
    ),
  )
  byId('history').hidden = byId('forget').hidden = list.length === 0
  byId('no-history').hidden = list.length > 0
}

export function forgetAll() {
  kept(() => localStorage.removeItem('questions'))
}
