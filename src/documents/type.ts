import { at } from '../../base/at.ts'
import { DocumentError } from './errors.ts'

/** A file as received. */
export interface DocumentFile {
  readonly bytes: Uint8Array
  /** File name; its extension helps to detect the format. */
  readonly name?: string | undefined
  /** Content-Type, with parameters. */
  readonly mediaType?: string | undefined
  /** Encoding of a text that is not UTF-8 and declares none. */
  readonly encoding?: string | undefined
}

interface Kind {
  /** File extensions, separated by spaces. */
  readonly endings: string
  readonly mediaTypes?: string
  /** Container that the file is stored in. */
  readonly container?: 'zip' | 'ole'
  readonly name: string
}

const OFFICE = 'application/vnd.openxmlformats-officedocument'
const OPEN = 'application/vnd.oasis.opendocument'
const BY_TYPE = {
  text: { name: 'text', endings: 'txt text', mediaTypes: 'text/plain' },
  markdown: { name: 'Markdown', endings: 'md markdown', mediaTypes: 'text/markdown' },
  html: { name: 'HTML', endings: 'html htm xhtml', mediaTypes: 'text/html application/xhtml+xml' },
  pdf: { name: 'PDF', endings: 'pdf', mediaTypes: 'application/pdf' },
  docx: { name: 'DOCX', endings: 'docx docm dotx', mediaTypes: `${OFFICE}.wordprocessingml.document`, container: 'zip' },
  doc: { name: 'DOC', endings: 'doc dot', mediaTypes: 'application/msword', container: 'ole' },
  odt: { name: 'ODT', endings: 'odt ott', mediaTypes: `${OPEN}.text`, container: 'zip' },
  epub: { name: 'EPUB', endings: 'epub', mediaTypes: 'application/epub+zip', container: 'zip' },
  xlsx: { name: 'XLSX', endings: 'xlsx xlsm', mediaTypes: `${OFFICE}.spreadsheetml.sheet`, container: 'zip' },
  ods: { name: 'ODS', endings: 'ods', mediaTypes: `${OPEN}.spreadsheet`, container: 'zip' },
  pptx: { name: 'PPTX', endings: 'pptx pptm ppsx', mediaTypes: `${OFFICE}.presentationml.presentation`, container: 'zip' },
  odp: { name: 'ODP', endings: 'odp', mediaTypes: `${OPEN}.presentation`, container: 'zip' },
  rst: { name: 'reStructuredText', endings: 'rst', mediaTypes: 'text/x-rst' },
  org: { name: 'Org', endings: 'org', mediaTypes: 'text/x-org text/org' },
  asciidoc: { name: 'AsciiDoc', endings: 'adoc asciidoc', mediaTypes: 'text/asciidoc' },
  latex: { name: 'LaTeX', endings: 'tex latex', mediaTypes: 'text/x-tex application/x-tex application/x-latex' },
  log: { name: 'log', endings: 'log' },
  code: {
    name: 'source code',
    endings:
      'bash bat bib c cc cfg clj cmake conf cpp cs css cxx dart el ex exs f90 fish go gradle graphql h hh hpp hs ini java jl js jsx kt kts less lisp lua m mjs cjs ml mli mm nim nix pas php pl pm properties proto ps1 py pyi r rb rs sass scala scm scss sh sql swift tcl tf toml ts tsx v vb vhdl vim vue xml xsd xsl yaml yml zig zsh',
    mediaTypes:
      'text/x-python text/javascript application/javascript text/css text/x-c text/x-java-source application/yaml application/toml',
  },
  notebook: { name: 'Jupyter notebook', endings: 'ipynb', mediaTypes: 'application/x-ipynb+json' },
  subtitles: { name: 'subtitles', endings: 'vtt srt', mediaTypes: 'text/vtt application/x-subrip' },
  image: {
    name: 'picture (with OCR)',
    endings: 'png jpg jpeg webp bmp tif tiff',
    mediaTypes: 'image/png image/jpeg image/webp image/bmp image/tiff',
  },
  email: { name: 'e-mail', endings: 'eml mbox', mediaTypes: 'message/rfc822 application/mbox' },
} satisfies Readonly<Record<string, Kind>>
export type DocumentType = keyof typeof BY_TYPE
const KINDS: Readonly<Record<DocumentType, Kind>> = BY_TYPE
/** Supported file types. */
export const DOCUMENT_TYPES = Object.keys(KINDS) as readonly DocumentType[]

/** Names of text files that usually have no extension. */
const TEXT_NAMES =
  /^(?:readme|licen[cs]e|copying|copyright|change(?:log|s)|release[-_]?notes|news|authors|contributors|contributing|install|todo|notice|history|faq|hacking|thanks|maintainers|security|credits|bugs)$/i
const CODE_NAMES = /^(?:(?:gnu)?makefile|dockerfile|containerfile|rakefile|gemfile|vagrantfile|jenkinsfile|procfile)$/i

const BY_ENDING = keyed(({ endings }) => endings)
const BY_MEDIA_TYPE = keyed(({ mediaTypes }) => mediaTypes ?? '')
/** Leading bytes inspected for a signature. */
const HEAD_BYTES = 1024
const SIGNATURES = { zip: /^PK/, ole: /^\xd0\xcf\x11\xe0/, image: /^(?:\x89PNG\r\n|\xff\xd8\xff|RIFF[^]{4}WEBP|II[*+]\0|MM\0[*+])/ }

function keyed(list: (kind: Kind) => string): ReadonlyMap<string, DocumentType> {
  const types = Object.entries(KINDS) as [DocumentType, Kind][]
  return new Map(types.flatMap(([type, kind]) => (list(kind).match(/\S+/g) ?? []).map((one) => [one, type] as const)))
}

/** The type that a file's name says; undefined for other names. */
export function typeOfName(name: string): DocumentType | undefined {
  const base = /[^/\\]*$/.exec(name)?.[0] ?? ''
  const [stem = ''] = base.split('.')
  return BY_ENDING.get(endingOf(name)) ?? (TEXT_NAMES.test(stem) ? 'text' : CODE_NAMES.test(stem) ? 'code' : undefined)
}

function endingOf(name: string): string {
  return /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
}

/** A file's type by its signature, else its media type, else its name; default: text. @throws unsupported_media_type naming the type */
export function documentType({ bytes, name = '', mediaType = '' }: DocumentFile): DocumentType {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1')
  if (head.includes('%PDF-')) return 'pdf'
  if (SIGNATURES.image.test(head)) return 'image'
  const media = at(mediaType.split(';'), 0).trim().toLowerCase()
  // Clients send unknown types as text/plain.
  const said = (media === 'text/plain' ? typeOfName(name) : undefined) ?? BY_MEDIA_TYPE.get(media) ?? typeOfName(name)
  const isStored = SIGNATURES.zip.test(head) || SIGNATURES.ole.test(head)
  if (SIGNATURES.zip.test(head) && said === 'doc') return 'docx'
  // A DOCX with a password is stored in the container of the older .doc format.
  if (isStored && said !== undefined && KINDS[said].container !== undefined) return said
  const isOther = isStored || /^(?:\x1f\x8b|GIF8|\{\\rtf)/.test(head)
  // A changelog.gz is called no text.
  const isCalled = endingOf(name) === '' ? BY_MEDIA_TYPE.has(media) : BY_ENDING.has(endingOf(name))
  if (isOther && !isCalled) throw unknown(endingOf(name), media)
  if (said !== undefined && (isOther || said === 'pdf' || KINDS[said].container !== undefined)) {
    const { name } = KINDS[said]
    const known = /^\{\\rtf/.test(head) ? 'is RTF' : 'does not begin as one'
    throw new DocumentError('damaged', `The file is called ${name}, but ${known}: open it in its program and save it as ${name}.`)
  }
  if (said !== undefined) return said
  const isAnything = ['', 'application/octet-stream'].includes(media)
  if (!isAnything || endingOf(name) !== '') throw unknown(endingOf(name), media)
  return /^\s*(?:<!doctype html|<html)/i.test(head) ? 'html' : 'text'
}

function unknown(ending: string, media: string): DocumentError {
  const names = Object.values(KINDS).map(({ name }) => name)
  const message = `${ending === '' ? media || 'This file' : `A .${ending} file`} cannot be read: send ${names.join(', ')}.`
  return new DocumentError('not_supported', message)
}
