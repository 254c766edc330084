import { stat } from 'node:fs/promises'
import { osCode } from './errors.ts'

/**
 * True if there is a file or folder at the path.
 * @throws what keeps it from being told, such as a folder that may not be read: that is no absence
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
