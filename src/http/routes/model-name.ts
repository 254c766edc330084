/** True if a name refers to the model, with or without its revision. */
export function isNamed(wanted: string, id: string): boolean {
  return wanted === id || wanted === id.split('@')[0]
}

/** Name of the loaded reader, or of the model that reranks, whatever its checkpoint. */
export const READER_ALIAS = 'cepe'

/** True if a request's `model` refers to the loaded reader. */
export function isReader(wanted: string, id: string): boolean {
  return wanted === READER_ALIAS || isNamed(wanted, id)
}
