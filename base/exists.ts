import { createRequire } from 'node:module'
import { lstat, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { attempt, CodedError, notFound, onCode, osCode } from './errors.ts'

/** Returns true if there is a file or folder at the path. @throws if this cannot be determined, for example in an unreadable folder */
export async function exists(path: string): Promise<boolean> {
  return (await orAbsent(stat(path)).catch(onCode(['ENOTDIR'], () => undefined))) !== undefined
}

/**
 * The result of an operation on a file or folder; undefined if it does not exist.
 * @throws store_unavailable for a link whose target is missing, of an unmounted disk for instance: that is no file that was never written
 */
export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (osCode(error) !== 'ENOENT') throw error
    const link = await brokenLink(Object(error) as NodeJS.ErrnoException)
    if (link === undefined) return undefined
    const message = `${link} is a link whose target is missing: mount the target or put it back, or remove the link.`
    throw new CodedError('store_unavailable', message, { cause: error })
  }
}

/** The link that a path of an error ENOENT, or a folder above it, is; undefined if there is none. */
async function brokenLink({ path }: NodeJS.ErrnoException): Promise<string | undefined> {
  for (let at = path; at !== undefined; at = dirname(at) === at ? undefined : dirname(at)) {
    const found = await lstat(at).catch(() => undefined)
    if (found !== undefined) return found.isSymbolicLink() && (await stat(at).catch(() => undefined)) === undefined ? at : undefined
  }
  return undefined
}

export function notRegular(path: string): CodedError {
  return notFound('file', `${path} is a pipe or a device: name a regular file.`)
}

/** @throws not_found for a pipe or a device, which gives its bytes once, or waits for them, or never ends */
export async function requireRegular(path: string): Promise<void> {
  const found = await stat(path)
  if (!found.isFile() && !found.isDirectory()) throw notRegular(path)
}

/** The content of a file. @throws as requireRegular */
export async function readRegular(path: string): Promise<Buffer> {
  await requireRegular(path)
  return readFile(path)
}

/** The text of a file; undefined if it does not exist. @throws store_unavailable naming it if it cannot be read */
export async function readText(path: string, encoding?: BufferEncoding): Promise<string | undefined> {
  const refuse = (error: unknown): never => {
    const message = `${path} is no file that can be read (${error instanceof CodedError ? 'a pipe or a device' : osCode(error)}): check its permissions, or put its copy back.`
    throw new CodedError('store_unavailable', message, { cause: error, retryAfterS: 5 })
  }
  const bytes = await orAbsent(readRegular(path)).catch(onCode(['EISDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENOTDIR', 'not_found'], refuse))
  return bytes?.toString(encoding)
}

const resolve = createRequire(import.meta.url).resolve

/** Packages that the user installs for OCR: the files of the program and of each language ("eng+deu"), or those that are missing. */
export function ocrPackages(languages: string): { readonly files: readonly string[]; readonly missing: readonly string[] } {
  const data = languages.split('+').map((one) => [`@tesseract.js-data/${one}`, `4.0.0_best_int/${one}.traineddata.gz`])
  const found = [['tesseract.js-core', 'tesseract-core-simd-lstm.js'], ...data].map(([name = '', file = '']) => ({
    name,
    file: attempt(() => resolve(`${name}/${file}`), undefined),
  }))
  return { files: found.flatMap(({ file }) => file ?? []), missing: found.flatMap(({ name, file }) => (file === undefined ? name : [])) }
}
