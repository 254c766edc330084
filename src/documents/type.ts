import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { DOCUMENT_TYPES, type DocumentFile, type DocumentType } from './contract.ts'

const BY_ENDING: Readonly<Record<string, DocumentType>> = {
  txt: 'text',
  text: 'text',
  md: 'markdown',
  markdown: 'markdown',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
}
const BY_MEDIA_TYPE: Readonly<Record<string, DocumentType>> = {
  'text/plain': 'text',
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
}
/** Bytes at a file's beginning in which its kind is looked for. */
const HEAD_BYTES = 1024

/**
 * What a file is: by its first bytes where they tell, else by its media type, else by its name's ending; without both it is text.
 * @throws unsupported_media_type naming what it seems to be
 */
export function documentType({ bytes, name = '', mediaType = '' }: DocumentFile): DocumentType {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1')
  if (head.includes('%PDF-')) return 'pdf'
  const media = at(mediaType.split(';'), 0).trim().toLowerCase()
  const ending = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const isBinary = /^(?:PK\x03\x04|\x1f\x8b|\x89PNG|\xff\xd8\xff|GIF8|\xd0\xcf\x11\xe0|\{\\rtf)/.test(head)
  if (isBinary) throw unknown(ending, media)
  // Clients call whatever they do not know plain text.
  const said = (media === 'text/plain' ? BY_ENDING[ending] : undefined) ?? BY_MEDIA_TYPE[media] ?? BY_ENDING[ending]
  if (said === 'pdf') throw new CodedError('document_invalid', 'The file is called a PDF, but does not begin as one.', { field: 'file' })
  if (said !== undefined) return said
  const isAnything = ['', 'application/octet-stream'].includes(media)
  if (!isAnything || ending !== '') throw unknown(ending, media)
  return /^\s*(?:<!doctype html|<html)/i.test(head) ? 'html' : 'text'
}

function unknown(ending: string, media: string): CodedError {
  return new CodedError(
    'unsupported_media_type',
    `${ending === '' ? media || 'This file' : `A .${ending} file`} cannot be read: send ${DOCUMENT_TYPES.join(', ')}.`,
    { field: 'file' },
  )
}
