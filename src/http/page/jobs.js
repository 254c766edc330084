import { call } from './api.js'
import { collectionName } from './collections.js'
import { announce, button, element, quiet } from './dom.js'
import { countsOf, isRunning, jobCard, shareOf, stateOf } from './job-card.js'
import { showProblem } from './problem.js'

const POLL_MS = 1000
const SHOWN = 10

/** The jobs of the collection, newest first, followed while one runs and the tab is seen. */
export class JobList {
  #list = element('ol', { className: 'cards' })
  #more = element('p', { className: 'actions' })
  #none = quiet('No jobs yet.')
  #problem = element('div', { className: 'problem', role: 'alert', hidden: true })
  /** Its part of the view. */
  part = element('div', {}, this.#none, this.#list, this.#more, this.#problem)
  #cards = new Map()
  #jobs = []
  #shown = SHOWN
  #sent
  #timer
  #onEnd

  /** @param {object[]} first all jobs as they are now @param {() => void} onEnd called when one has ended */
  constructor(first, onEnd) {
    this.#onEnd = onEnd
    this.#show(first)
    document.addEventListener('visibilitychange', this.#follow)
    this.#follow()
  }

  /** A job that was just sent: what it left out is unfolded. */
  add({ id }) {
    this.#sent = id
    void this.#poll()
  }

  #change = async (url, options) => {
    const problem = await call(url, options).then(
      () => undefined,
      (error) => error,
    )
    await this.#poll()
    if (problem) showProblem(this.#problem, problem)
  }

  #show(all) {
    const name = collectionName()
    const next = all.filter(({ table }) => table === name).reverse()
    for (const job of next)
      tell(
        this.#jobs.find(({ id }) => id === job.id),
        job,
        this.#onEnd,
      )
    this.#jobs = next
    this.#none.hidden = next.length > 0
    const focused = document.activeElement
    this.#list.replaceChildren(...next.slice(0, this.#shown).map((job) => this.#itemOf(job)))
    if (this.#list.contains(focused)) focused.focus({ preventScroll: true })
    this.#more.replaceChildren(...(next.length > this.#shown ? [button('Show older', () => this.#showOlder())] : []))
  }

  /** The card of a job, made anew where the job has changed. */
  #itemOf(job) {
    const state = JSON.stringify(job)
    const known = this.#cards.get(job.id)
    if (known?.state === state) return known.item
    const item = jobCard(job, { isOpen: job.id === this.#sent, change: this.#change })
    if (known) keepPlace(known.item, item)
    this.#cards.set(job.id, { state, item })
    return item
  }

  #showOlder() {
    this.#shown += SHOWN
    void this.#poll()
  }

  async #poll() {
    clearTimeout(this.#timer)
    if (!this.part.isConnected) return document.removeEventListener('visibilitychange', this.#follow)
    try {
      this.#show((await call('v1/admin/index-jobs')).jobs)
      showProblem(this.#problem)
    } catch (error) {
      showProblem(this.#problem, error, () => void this.#poll())
    }
    return this.#follow()
  }

  #follow = () => {
    clearTimeout(this.#timer)
    if (this.#jobs.some(isRunning) && document.visibilityState === 'visible') this.#timer = setTimeout(() => void this.#poll(), POLL_MS)
  }
}

/** Tells a screen reader of each quarter of a job and of its end. */
function tell(before, job, onEnd) {
  if (before === undefined || !isRunning(before)) return
  const quarter = (one) => Math.floor(4 * (shareOf(one) ?? 0))
  if (!isRunning(job)) {
    announce(`${job.source.name}: ${stateOf(job)}. ${countsOf(job)}`)
    onEnd()
  } else if (job.state === 'indexing' && quarter(job) > quarter(before)) announce(`${job.source.name}: ${25 * quarter(job)} %.`)
}

/** What was open, and where the focus was, stays so in a card that is made anew. */
function keepPlace(old, item) {
  const details = item.querySelector('details')
  if (details) details.open ||= old.querySelector('details')?.open ?? false
  if (!old.contains(document.activeElement)) return
  const text = document.activeElement.textContent
  const same = [...item.querySelectorAll('button, summary')].find((one) => one.textContent === text)
  queueMicrotask(() => same?.focus({ preventScroll: true }))
}
