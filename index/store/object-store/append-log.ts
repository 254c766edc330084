import { randomUUID } from 'node:crypto'
import type { Logs } from '../store.ts'
import { deleteBeneath, deleteObject, listNames, listObjects, putObject, readObject } from './objects.ts'

function listAddress(folder: string, name: string): string {
  return `${folder}/lists/${name}`
}

function entriesAddress(folder: string, name: string): string {
  return `${folder}/entries/${name}`
}

/** Each entry is an object: `<folder>/lists/<name>` marks an open log, `<folder>/entries/<name>/` has its entries. */
export const objectLogs: Logs = {
  names: (folder) => listNames(`${folder}/lists`),

  async begin(folder, name) {
    await putObject(listAddress(folder, name), '{}', { absent: true })
  },

  async end(folder, name) {
    await deleteObject(listAddress(folder, name))
    await deleteBeneath(entriesAddress(folder, name))
  },

  async append(folder, name, entry) {
    await putObject(`${entriesAddress(folder, name)}/${randomUUID()}`, entry)
  },

  reader(folder, name) {
    const [at, known] = [entriesAddress(folder, name), new Set<string>()]
    return async () => {
      const texts: string[] = []
      for await (const entry of listObjects(at)) {
        if (known.has(entry.name)) continue
        const object = await readObject(`${at}/${entry.name}`)
        known.add(entry.name)
        if (object !== undefined) texts.push(object.text)
      }
      return texts
    }
  },
}
