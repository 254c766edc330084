import { CodedError } from '../../../base/errors.ts'
import type { FileInfo, Files } from '../store.ts'
import { copyObject, deleteBeneath, deleteObject, downloadObject, listNames, listObjects, putObject, readObject } from './objects.ts'

/** What the clocks of a store and of this machine may be apart. */
const CLOCK_MS = 60_000

/** Objects as files: a folder is what their names have in common. */
export const objectFiles: Files = {
  makeFolder: () => Promise.resolve(),
  list: listNames,
  walk,

  async bytes(dir) {
    let bytes = 0
    for await (const object of listObjects(dir)) bytes += object.bytes
    return bytes
  },

  async age(path) {
    let newest = -Infinity
    for await (const { modified } of listObjects(path)) newest = Math.max(newest, modified.getTime())
    return newest === -Infinity ? Infinity : Date.now() - newest - CLOCK_MS
  },

  async read(path) {
    return (await readObject(path))?.text
  },

  async write(path, text) {
    await putObject(path, text)
  },

  remove: deleteObject,
  removeTree: deleteBeneath,

  rename: (from) =>
    Promise.reject(
      new CodedError(
        'unsupported',
        `${from} is in an object store, which renames nothing: write a copy, and what says that it is whole last.`,
      ),
    ),

  async copy(from, to, { bytes }) {
    try {
      await copyObject(from, to, bytes)
      return true
    } catch (error) {
      if (error instanceof CodedError && error.code === 'not_found') return false
      throw error
    }
  },

  download: downloadObject,
}

async function* walk(dir: string, most?: number): AsyncGenerator<FileInfo> {
  for await (const { name, bytes } of listObjects(dir, most)) yield { name, bytes, shared: false }
}
