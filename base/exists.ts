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
