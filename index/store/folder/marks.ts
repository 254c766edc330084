import { randomUUID } from 'node:crypto'
import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processTag, stateOf } from '../../../base/locks/process.ts'
import type { Marks } from '../store.ts'
import { folderFiles } from './files.ts'
import { makeFolder } from '../../../base/make-folder.ts'

/**
 * Heartbeat of a process on another machine or in another container; without one for `SILENT_MS` it counts as dead. Clocks may differ by
 * minutes.
 */
const HEARTBEAT_MS = 30_000
const SILENT_MS = 10 * 60_000

/** `<name>~<process tag>~<unique>` */
const MARK_FILE = /^(.+)~([0-9a-f-]+)~[0-9a-f-]+$/

export const folderMarks: Marks = {
  async put(folder, name) {
    const path = join(folder, `${name}~${await processTag()}~${randomUUID()}`)
    try {
      await makeFolder(folder)
      await writeFile(path, '', { flag: 'wx' })
    } catch {
      // This process has no write permission there.
      return () => Promise.resolve()
    }
    const beat = setInterval(() => {
      utimes(path, new Date(), new Date()).catch(() => undefined)
    }, HEARTBEAT_MS).unref()
    return async () => {
      clearInterval(beat)
      await rm(path, { force: true }).catch(() => undefined)
    }
  },

  async list(folder) {
    const held: string[] = []
    for (const file of await folderFiles.list(folder)) {
      const [, name, tag = ''] = MARK_FILE.exec(file) ?? []
      if (name === undefined) continue
      const path = join(folder, file)
      if (await isHeld(path, tag)) held.push(name)
      else await rm(path, { force: true })
    }
    return held
  },
}

async function isHeld(path: string, tag: string): Promise<boolean> {
  const state = await stateOf(tag)
  return state === 'elsewhere' ? (await folderFiles.age(path)) < SILENT_MS : state === 'alive'
}
