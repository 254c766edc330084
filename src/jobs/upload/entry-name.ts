import { CodedError } from '../../../base/errors.ts'

/** @throws corpus_invalid for a name that leads out of the archive's folder, or none */
export function entryName(given: string): string {
  const parts = given
    .replaceAll('\\', '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  if (/^(?:[/\\]|[a-z]:)/i.test(given) || parts.includes('..') || parts.length === 0 || given.includes('\0'))
    throw new CodedError(
      'corpus_invalid',
      `The archive holds the path ${JSON.stringify(given.slice(0, 100))}, which leads out of it: it is refused.`,
      {
        field: 'file',
      },
    )
  return parts.join('/')
}

/** Names that begin with a dot, and what macOS puts into archives beside the files. */
export function isHidden(file: string): boolean {
  return file.split('/').some((part) => part.startsWith('.') || part === '__MACOSX')
}
