import { stat } from 'node:fs/promises'
import { osCode } from './errors.ts'

/**
 * Returns true if there is a file or folder at the path.
 * @throws if this cannot be determined, for example in an unreadable folder
 */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(osCode(error) ?? '')) return false
    throw error
  }
}

/** The result of an operation on a file or folder; undefined if it does not exist. */
export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (osCode(error) === 'ENOENT') return undefined
    throw error
  }
}
