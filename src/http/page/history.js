import { byId, element, kept } from './dom.js'

const MOST_REMEMBERED = 50

/** Questions that this browser keeps, the last one first. */
export function remembered() {
  const list = kept(() => JSON.parse(localStorage.getItem('questions') ?? '[]'))
  return Array.isArray(list) ? list.filter((item) => typeof item === 'string') : []
}

export function remember(question) {
  const list = [question, ...remembered().filter((known) => known !== question)].slice(0, MOST_REMEMBERED)
  kept(() => localStorage.setItem('questions', JSON.stringify(list)))
}

/** @param {(question: string) => void} again asks one of them once more */
export function showHistory(again) {
  byId('history').replaceChildren(
    ...remembered().map((text) => element('li', {}, element('button', { type: 'button', onclick: () => again(text) }, text))),
  )
}

export function forgetAll() {
  kept(() => localStorage.removeItem('questions'))
}
