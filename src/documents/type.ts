import { at } from '../../base/at.ts'
import { DOCUMENT_TYPES, type DocumentFile, type DocumentType } from './contract.ts'
import { DocumentError } from './errors.ts'

const BY_ENDING: Readonly<Record<string, DocumentType>> = {
  txt: 'text',
  text: 'text',
  md: 'markdown',
  markdown: 'markdown',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
  epub: 'epub',
}
const BY_MEDIA_TYPE: Readonly<Record<string, DocumentType>> = {
  'text/plain': 'text',
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/epub+zip': 'epub',
}
/** Supported file extensions. */
export const DOCUMENT_ENDINGS: readonly string[] = Object.keys(BY_ENDING)
/** Leading bytes inspected for a signature. */
const HEAD_BYTES = 1024

/**
 * Detects a file's type by its signature, else its media type, else its extension; default: text.
 * @throws unsupported_media_type naming the detected type
 */
export function documentType({ bytes, name = '', mediaType = '' }: DocumentFile): DocumentType {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1')
  if (head.includes('%PDF-')) return 'pdf'
  const media = at(mediaType.split(';'), 0).trim().toLowerCase()
  const ending = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const archive = BY_MEDIA_TYPE[media] ?? BY_ENDING[ending]
  // A DOCX with a password is stored in the container of the older .doc format.
  if (/^(?:PK|\xd0\xcf\x11\xe0)/.test(head) && (archive === 'docx' || archive === 'epub')) return archive
  const isBinary = /^(?:PK\x03\x04|\x1f\x8b|\x89PNG|\xff\xd8\xff|GIF8|\xd0\xcf\x11\xe0|\{\\rtf)/.test(head)
  if (isBinary) throw unknown(ending, media)
  // Clients send unknown types as text/plain.
  const said = (media === 'text/plain' ? BY_ENDING[ending] : undefined) ?? BY_MEDIA_TYPE[media] ?? BY_ENDING[ending]
  if (said === 'pdf' || said === 'docx' || said === 'epub')
    throw new DocumentError('damaged', `The file is called ${article(said)}, but does not begin as one.`)
  if (said !== undefined) return said
  const isAnything = ['', 'application/octet-stream'].includes(media)
  if (!isAnything || ending !== '') throw unknown(ending, media)
  return /^\s*(?:<!doctype html|<html)/i.test(head) ? 'html' : 'text'
}

function article(type: 'pdf' | 'docx' | 'epub'): string {
  return `${type === 'epub' ? 'an' : 'a'} ${type.toUpperCase()}`
}

function unknown(ending: string, media: string): DocumentError {
  return new DocumentError(
    'not_supported',
    `${ending === '' ? media || 'This file' : `A .${ending} file`} cannot be read: send ${DOCUMENT_TYPES.join(', ')}.`,
  )
}
