/** Whether a model is meant by a name: it may be given with or without its revision. @param id of the model */
export function isNamed(wanted: string, id: string): boolean {
  return wanted === id || wanted === id.split('@')[0]
}

/** What clients may call the reader in service, whichever checkpoint it is. */
export const READER_ALIAS = 'cepe'

/** Whether a request's `model` means the reader in service. */
export function isReader(wanted: string, id: string): boolean {
  return wanted === READER_ALIAS || isNamed(wanted, id)
}
