import { allCollections, collectionName, loadCollections, loadService, picker } from './collections.js'
import { button, byId, count, showText } from './dom.js'
import { updateThumbs } from './feedback.js'
import { key as currentKey, UNKNOWN } from './gate.js'
import { showProblem } from './problem.js'

const form = byId('ask')
/** Where there is nothing to ask, and the one source that is asked; undefined for all. */
let isEmpty = false
let only
let onExample

/** Whether a document of one's own is asked. */
export const isOwn = () => form.elements.target.value === 'document'

export const onlySource = () => only

/** Reads what is in the collection and what can be asked of the service, and shows it; tells what keeps it from that. */
export async function refresh() {
  try {
    const [described] = await Promise.all([loadService(), loadCollections().then(showPicker, () => undefined)])
    show(described)
  } catch (error) {
    showProblem(byId('problem'), error, refresh)
  }
}

function show({ corpus, reader, modes, methods, min_confidence: least, index, key }) {
  const empty = !(index?.passages > 0)
  showText('about', empty ? 'No passages yet.' : corpus.about)
  byId('examples').replaceChildren(...corpus.questions.map((text) => button(text, () => void onExample(text))))
  byId('to-manage').hidden = key?.role === 'user'
  showText('key-problem', currentKey() !== '' && key === null ? UNKNOWN : '')
  showEmpty(empty)
  updateThumbs()
  const { k, k_decoder, min_confidence, mode, method } = form.elements
  k.placeholder = reader.defaults.k
  k_decoder.placeholder = reader.defaults.k_decoder
  min_confidence.placeholder = least
  if (mode.options.length > 1) return
  mode.append(...modes.map((one) => new Option(one)))
  method.append(...methods.map((one) => new Option(one)))
}

/** Shows the picker of collections next to the question. */
export function showPicker() {
  byId('picker').replaceChildren(picker(changeCollection))
}

function changeCollection() {
  const chosen = allCollections().find(({ name }) => name === collectionName())
  showText('about', typeof chosen?.passages === 'number' ? `${count(chosen.passages, 'passage')}.` : '')
  byId('examples').replaceChildren()
  showProblem(byId('problem'))
  void refresh()
}

/** Where there is nothing to ask, a document of one's own can be asked. */
export function showEmpty(empty) {
  isEmpty = empty
  byId('empty').hidden = !empty
  byId('browse').hidden = empty
  if (empty) form.elements.target.value = 'document'
  showTarget()
}

/** Asks the corpus, or one source of it. @param {string} [source] */
export function aimAt(source) {
  only = source
  showTarget()
}

/** Shows the fields of what is asked: the corpus, one source or a document. */
export function showTarget() {
  const own = isOwn()
  byId('document').hidden = !own
  byId('only').hidden = only === undefined || own
  byId('only-source').textContent = only ?? ''
  byId('picker').hidden = isEmpty || own || only !== undefined
  // Examples are for whoever has not asked yet.
  byId('examples').hidden = own || only !== undefined || document.body.classList.contains('asked')
}

/** @param {(text: string) => void} ask asks an example */
export function watchTarget(ask) {
  onExample = ask
  for (const choice of form.elements.target) choice.addEventListener('change', showTarget)
  // Browsers restore what was chosen before a reload.
  showTarget()
}
