import { open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPath } from '../../../base/durable.ts'
import { osCode } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import type { Logs } from '../store.ts'
import { folderFiles } from './files.ts'
import { makeFolder } from '../../../base/make-folder.ts'

const SUFFIX = '.jsonl'

function pathOf(folder: string, name: string): string {
  return join(folder, `${name}${SUFFIX}`)
}

/** Each log is a file to which lines are appended. */
export const folderLogs: Logs = {
  async names(folder) {
    const files = await folderFiles.list(folder)
    return files.filter((name) => name.endsWith(SUFFIX)).map((name) => name.slice(0, -SUFFIX.length))
  },

  async begin(folder, name) {
    await makeFolder(folder)
    await (await open(pathOf(folder, name), 'a')).close()
    await syncPath(folder)
    await syncPath(dirname(folder))
  },

  end: (folder, name) => rm(pathOf(folder, name), { force: true }),

  async append(folder, name, entry) {
    const file = await open(pathOf(folder, name), 'a')
    try {
      // Begins with a newline, so that an entry after a torn one is valid.
      await file.appendFile(`\n${entry}`)
      await file.datasync()
    } finally {
      await file.close()
    }
  },

  reader(folder, name) {
    let offset = 0
    return async () => {
      const read = await readFrom(pathOf(folder, name), offset)
      offset += read.length
      return read
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '')
    }
  },
}

/** Reads appended bytes up to the last newline; an entry after it may be incomplete. */
async function readFrom(path: string, offset: number): Promise<Buffer> {
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      const bytes = Buffer.alloc(size - offset)
      await file.read(bytes, 0, bytes.length, offset)
      // An entry is complete once the next one begins or it parses; a torn one is read again, and never parses.
      const end = parseJson(bytes.subarray(bytes.lastIndexOf(10) + 1).toString()) === undefined ? bytes.lastIndexOf(10) : bytes.length
      return bytes.subarray(0, Math.max(0, end))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (osCode(error) === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}
