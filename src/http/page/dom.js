/** @param {string} id @returns {HTMLElement} */
export const byId = (id) => document.getElementById(id)

/** A new element. Names with a dash are attributes. Texts stay texts: nothing of an answer is read as HTML. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (!/-|^role$|^for$/.test(key)) made[key] = value
    else if (value !== undefined) made.setAttribute(key, value)
  }
  made.append(...children)
  return made
}

/** A paragraph in small type. */
export const quiet = (...children) => element('p', { className: 'quiet' }, ...children)

/** A small button. */
export const button = (text, onclick, properties = {}) =>
  element('button', { type: 'button', className: 'small', onclick, ...properties }, text)

let made = 0

/** A form of one field with its button, of which the text that was entered is given to `onsubmit`. */
export function fieldForm({ label, action, value = '', className = 'small', onsubmit, ...field }) {
  const input = element('input', { id: `field-${++made}`, value, autocomplete: 'off', ...field })
  const problem = element('div', { className: 'problem', role: 'alert', hidden: true, id: `${input.id}-problem` })
  input.setAttribute('aria-describedby', problem.id)
  const row = element('div', { className: 'row' }, input, element('button', { className }, action))
  const form = element('form', {}, element('label', { className: 'label', for: input.id }, label), row, problem)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    try {
      void onsubmit(input.value.trim(), { input, problem })
    } catch (error) {
      problem.textContent = error.message
      problem.hidden = false
    }
  })
  return Object.assign(form, { input, problem })
}

/** Shows a text in an element, or hides the element where there is none. */
export function showText(id, text) {
  byId(id).hidden = !text
  byId(id).textContent = text ?? ''
}

/** Tells a screen reader. */
export function announce(text) {
  byId('status').textContent = text
}

/** What the browser keeps is a convenience: one that keeps nothing, or no more, has a page that works. */
export function kept(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Nothing is certain, or impossible, that was only estimated. */
export function percent(share) {
  return Math.min(99, Math.max(1, Math.round(100 * share)))
}

/** "1 passage", "2,305 passages". */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}
