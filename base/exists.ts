import { createRequire } from 'node:module'
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

const resolve = createRequire(import.meta.url).resolve

/** Packages that the user installs for OCR: the files of the program and of each language ("eng+deu"), or those that are missing. */
export function ocrPackages(languages: string): { readonly files: readonly string[]; readonly missing: readonly string[] } {
  const data = languages.split('+').map((one) => [`@tesseract.js-data/${one}`, `4.0.0_best_int/${one}.traineddata.gz`])
  const found = [['tesseract.js-core', 'tesseract-core-simd-lstm.js'], ...data].map(([name = '', file = '']) => {
    try {
      return { file: resolve(`${name}/${file}`) }
    } catch {
      return { name }
    }
  })
  return { files: found.flatMap(({ file }) => file ?? []), missing: found.flatMap(({ name }) => name ?? []) }
}
