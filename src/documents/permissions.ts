import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Node's permission model by its names: that of Node 22.13 and newer, and that of before. */
const FLAGS = ['--permission', '--experimental-permission'] as const

/**
 * Arguments of Node that let a process read this program and its packages, and nothing else: no other file, no further process or
 * thread, no native code, and from Node 25 on no network. None where Node has no permission model.
 * @param childFile file that the process runs
 */
export function permissionFlags(childFile: URL): string[] {
  const flag = FLAGS.find((name) => process.allowedNodeEnvironmentFlags.has(name))
  if (flag === undefined) return []
  const own = fileURLToPath(new URL('../../', import.meta.url))
  const readable = [path.join(own, '*'), fileURLToPath(childFile), ...packagesAbove(own)]
  return [flag, ...readable.map((name) => `--allow-fs-read=${name}`)]
}

/** Packages, and descriptions of packages, where Node looks for them from a folder on. */
function packagesAbove(from: string): string[] {
  const found: string[] = []
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'node_modules'))) found.push(path.join(folder, 'node_modules', '*'))
    found.push(path.join(folder, 'package.json'))
    if (folder === path.dirname(folder)) return found
  }
}
