import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { tempDir } from '../index/helpers.ts'

/** A small disk of its own; undefined where this process may not mount one. */
export async function smallDisk(t: Test, megabytes: number): Promise<string | undefined> {
  const dir = await tempDir(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'cepe-test', dir], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  t.teardown(() => execFileSync('umount', ['-l', dir], { stdio: 'ignore' }))
  return dir
}

/** Mounts a small disk again, for reading alone or for writing too. */
export function remount(dir: string, how: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,${how}`, dir], { stdio: 'ignore' })
}

/** Fills a disk up to `spare` bytes. */
export function fill(dir: string, spare = 0): void {
  const file = openSync(join(dir, 'filler'), 'a')
  try {
    for (const size of [65_536, 4096]) {
      const block = Buffer.alloc(size)
      for (;;) {
        const { bavail, bsize } = statfsSync(dir)
        if (bavail * bsize - size < spare) break
        writeSync(file, block)
      }
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  } finally {
    closeSync(file)
  }
}

/** Removes what fills a disk. */
export function unfill(dir: string): void {
  rmSync(join(dir, 'filler'))
}
