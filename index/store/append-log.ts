import { randomUUID } from 'node:crypto'
import { deleteBeneath, deleteObject, listNames, listObjects, putObject, readObject } from './objects.ts'

/**
 * Lists of entries that are only ever added to, one object each: what a file is to which lines are appended. `<address>/lists/<name>`
 * says that a list is kept, `<address>/entries/<name>/` has its entries.
 */
function listAddress(address: string, name: string): string {
  return `${address}/lists/${name}`
}

function entriesAddress(address: string, name: string): string {
  return `${address}/entries/${name}`
}

/** Names of the lists that are kept, in their order. */
export function listsOf(address: string): Promise<string[]> {
  return listNames(`${address}/lists`)
}

/** Begins a list; one that is there goes on. */
export async function beginList(address: string, name: string): Promise<void> {
  await putObject(listAddress(address, name), '{}', { absent: true })
}

/** Ends a list: no entries are added any more, and those it has go. */
export async function endList(address: string, name: string): Promise<void> {
  await deleteObject(listAddress(address, name))
  await deleteBeneath(entriesAddress(address, name))
}

/** Adds an entry; durable when it returns. One whose answer was lost may be there twice. */
export async function appendEntry(address: string, name: string, text: string): Promise<void> {
  await putObject(`${entriesAddress(address, name)}/${randomUUID()}`, text)
}

/** The entries that are not among those read before, in no order; their names are added to `known`. */
export async function newEntries(address: string, name: string, known: Set<string>): Promise<string[]> {
  const at = entriesAddress(address, name)
  const texts: string[] = []
  for await (const entry of listObjects(at)) {
    if (known.has(entry.name)) continue
    const object = await readObject(`${at}/${entry.name}`)
    known.add(entry.name)
    if (object !== undefined) texts.push(object.text)
  }
  return texts
}
