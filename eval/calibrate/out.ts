import { randomUUID } from 'node:crypto'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, messageOf } from '../../base/errors.ts'

/** Before all questions are asked: what they took would be lost. @throws options_invalid where the file cannot be written */
export async function refuseUnwritable(out: string): Promise<void> {
  const aside = `${out}.${randomUUID()}.tmp`
  try {
    const there = await stat(out).catch(() => undefined)
    if (there?.isDirectory() === true) throw new Error('it is a folder')
    await mkdir(path.dirname(out), { recursive: true })
    await (await open(aside, 'wx')).close()
    await rm(aside)
  } catch (error) {
    throw new CodedError('options_invalid', `${out} cannot be written (${messageOf(error)}): name another file with --out.`, {
      field: 'out',
      cause: error,
    })
  }
}
