import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { osCode } from '../base/errors.ts'
import { isAlive } from '../base/process.ts'
import { unsupported } from './errors.ts'
import { MANIFEST_FILE } from './manifest.ts'

const MARK = '.partial-'

/** Removes what builds of `outDir` left whose process is gone. */
async function sweep(outDir: string): Promise<void> {
  const prefix = `${basename(outDir)}${MARK}`
  for (const name of await readdir(dirname(outDir))) {
    if (name.startsWith(prefix) && !isAlive(Number.parseInt(name.slice(prefix.length), 10))) {
      await rm(join(dirname(outDir), name), { recursive: true, force: true })
    }
  }
}

/** Only a folder that a build made, or an empty one, is ever replaced. */
async function assertReplaceable(outDir: string): Promise<void> {
  const entries = await readdir(outDir).catch((error: unknown): string[] => {
    if (osCode(error) === 'ENOENT') return []
    throw error
  })
  if (entries.length > 0 && !entries.includes(MANIFEST_FILE)) {
    throw unsupported(`${outDir} holds files that are no built model (no ${MANIFEST_FILE}); choose another output folder`, outDir)
  }
}

let builds = 0

/**
 * Fills `outDir` aside and puts it in place with renames when `fill` succeeds; an older build is replaced, a failed or
 * killed one leaves `outDir` as it was. Left-overs of killed builds are removed by the next one.
 */
export async function fillFolder<T>(folder: string, fill: (staging: string) => Promise<T>): Promise<T> {
  const outDir = resolve(folder)
  await mkdir(dirname(outDir), { recursive: true })
  await assertReplaceable(outDir)
  await sweep(outDir)
  const staging = `${outDir}${MARK}${process.pid}-${builds++}`
  await mkdir(staging)
  try {
    const result = await fill(staging)
    const old = `${staging}-old`
    const replaced = await stat(outDir).then(
      () => true,
      () => false,
    )
    if (replaced) await rename(outDir, old)
    await rename(staging, outDir)
    if (replaced) await rm(old, { recursive: true, force: true })
    return result
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
}
