import { UnreachableError } from './api.js'
import { collectionName, defaultName } from './collections.js'
import { button, element, quiet } from './dom.js'

const MOST_TRIES = 3
const PAUSE_S = 5
const LONG_S = 120

/**
 * What an error means for whoever reads the page.
 * @returns {{words: string, again?: boolean, wait?: number, alone?: boolean}} `again`: asking again may help, after `wait` seconds, `alone` without a click
 */
function meaning(error) {
  const wait = error.retryAfter ?? PAUSE_S
  if (error instanceof UnreachableError) return { words: error.message, again: true }
  // The quota of a day has words of its own.
  if (error.code === 'rate_limited' && wait <= LONG_S)
    return { words: `Too many requests. Asking again is possible in ${wait} s.`, again: true, wait }
  if (error.code === 'not_ready') return { words: 'The service is starting.', again: true, wait, alone: true }
  if (error.code === 'overloaded') return { words: 'Many are asking at the moment.', again: true, wait, alone: true }
  if (error.code === 'deadline_exceeded') return { words: 'It took too long. Ask again, or ask something shorter.', again: true }
  if (error.code === 'unknown_collection') return { words: `There is no collection ${collectionName()} for this key.` }
  return { words: error.message }
}

/**
 * Shows an error next to its field; without one, takes away what is shown there.
 * @param {() => void} [again] does once more what failed
 * @param {string} [kept] what of it is not lost
 */
export function showProblem(box, error, again, kept = '') {
  box.stop?.()
  box.stop = undefined
  box.hidden = error === undefined
  box.replaceChildren()
  if (error === undefined) return
  const { words, again: helps = false, wait = 0, alone = false } = meaning(error)
  const isOffline = error instanceof UnreachableError
  const tries = box.tries ?? 0
  const repeat = (next) => {
    showProblem(box)
    box.tries = next
    again()
  }
  const byItself = alone && again !== undefined && tries < MOST_TRIES
  box.append(element('p', {}, [words, isOffline ? kept : '', byItself ? `Asking again in ${wait} s.` : ''].filter(Boolean).join(' ')))
  if (error.code === 'unknown_collection' && collectionName() !== defaultName())
    box.append(element('a', { className: 'button', href: './?view=' }, `Ask in ${defaultName()}`))
  else if (error.requestId && !helps) box.append(quiet(`Request ID ${error.requestId}`))
  if (!helps || again === undefined) return
  const retry = button('Try again', () => repeat(0), { disabled: wait > 0 })
  box.append(retry)
  const timer = setTimeout(() => (byItself ? repeat(tries + 1) : (retry.disabled = false)), wait * 1000)
  const online = () => repeat(tries)
  if (isOffline) addEventListener('online', online, { once: true })
  box.stop = () => {
    clearTimeout(timer)
    removeEventListener('online', online)
  }
}

/** Ends asking again by itself. */
export function stopTrying(box) {
  box.stop?.()
  for (const one of box.querySelectorAll('button')) one.disabled = false
}
