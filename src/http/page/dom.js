/** @param {string} id @returns {HTMLElement} */
export const byId = (id) => document.getElementById(id)

/** A new element. Texts stay texts: nothing of an answer is read as HTML. */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

/** Shows a text in an element, or hides the element where there is none. */
export function showText(id, text) {
  byId(id).hidden = !text
  byId(id).textContent = text ?? ''
}

/** Shows an error in the form that it is of; without one, takes away what is shown there. */
export function showProblem(id, error) {
  showText(id, error?.message)
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
