import { CodedError } from '../../../base/errors.ts'

/**
 * Normalizes the path of a file in an archive or a form.
 * @throws corpus_invalid for an empty path, or one that leads outside of the archive or form
 */
export function entryName(given: string, holder = 'archive'): string {
  const parts = given
    .replaceAll('\\', '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  if (/^(?:[/\\]|[a-z]:)/i.test(given) || parts.includes('..') || parts.length === 0 || given.includes('\0')) {
    const message = `The ${holder} holds the path ${JSON.stringify(given.slice(0, 100))}, which leads out of it: it is refused.`
    throw new CodedError('corpus_invalid', message, { field: 'file' })
  }
  return parts.join('/')
}

/** True for names that begin with a dot, and metadata that macOS adds to archives. */
export function isHidden(file: string): boolean {
  return file.split('/').some((part) => part.startsWith('.') || part === '__MACOSX')
}
