import { call } from './api.js'
import { collection, service } from './collections.js'
import { disclosure } from './disclosure.js'
import { announce, byId, fieldForm, showText } from './dom.js'

/** The answer from passages that is shown, and rated where it can be. */
let shown
let rated
let correction
let toggleCorrection

/** Shows the thumbs of an answer from passages, where a key may send feedback and it is kept; else none. */
export function showThumbs(result) {
  shown = result
  updateThumbs()
  press(undefined)
  showText('thanks')
  hideCorrection()
  correction.input.value = ''
}

/** Shows thumbs where the service says that they are of use. */
export function updateThumbs() {
  const { key, feedback } = service()
  rated = key && feedback && shown?.id ? shown : undefined
  for (const id of ['right', 'wrong']) byId(id).hidden = rated === undefined
}

function hideCorrection() {
  correction.hidden = true
  byId('wrong').setAttribute('aria-expanded', 'false')
}

function press(id) {
  for (const one of ['right', 'wrong']) byId(one).setAttribute('aria-pressed', String(one === id))
}

function say(text) {
  showText('thanks', text)
  announce(text)
}

async function send(correct, expected) {
  const { id, answer, question } = rated
  const json = { question, collection: collection(), correct, answer, ...(expected && { expected: [expected] }) }
  try {
    await call(`v1/answers/${encodeURIComponent(id)}/feedback`, { json })
    press(correct ? 'right' : 'wrong')
    say('Thank you. It is kept.')
  } catch (error) {
    press(undefined)
    if (error.status === 403) showThumbs(undefined)
    if (error.status === 403) say('Feedback is not kept here.')
    else say(error.status === 507 ? 'It could not be kept: the service has no room for feedback.' : error.message)
  }
}

/** Right is sent at once; wrong asks what is right first. */
export function watchThumbs() {
  correction = fieldForm({
    label: 'What is right? You may leave it empty.',
    action: 'Send',
    maxLength: 1000,
    onsubmit: (text) => {
      toggleCorrection(false)
      return send(false, text)
    },
  })
  correction.className = 'sure'
  byId('correction').replaceWith(correction)
  toggleCorrection = disclosure(byId('wrong'), correction, {
    focus: () => correction.input.focus(),
    closed: () => press(undefined),
  })
  byId('right').addEventListener('click', () => {
    hideCorrection()
    press('right')
    void send(true)
  })
  byId('wrong').addEventListener('click', () => {
    if (!correction.hidden) return toggleCorrection(false)
    showText('thanks')
    press('wrong')
    return toggleCorrection(true)
  })
}
