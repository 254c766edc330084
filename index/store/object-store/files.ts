import { ageOf } from '../../../base/locks/clock.ts'
import { CodedError } from '../../../base/errors.ts'
import type { FileInfo, Files } from '../store.ts'
import { copyObject, deleteBeneath, deleteObject, downloadObject, listNames, listObjects, putObject, readObject } from './objects.ts'

/** Maximum clock difference between a store and this machine. */
const CLOCK_MS = 60_000

/** Objects as files: a folder is a common prefix of names. */
export const objectFiles: Files = {
  makeFolder: () => Promise.resolve(),
  list: listNames,
  walk,

  async age(path) {
    let newest = -Infinity
    for await (const { modified } of listObjects(path)) newest = Math.max(newest, modified.getTime())
    return newest === -Infinity ? Infinity : ageOf(newest) - CLOCK_MS
  },

  identity: (dir) => Promise.resolve(dir),

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
        `${from} is in an object store, which cannot rename: write a copy, and a record of its completeness last.`,
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
