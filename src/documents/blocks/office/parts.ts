import type { Element } from 'domhandler'
import path from 'node:path/posix'
import { DocumentError } from '../../errors.ts'
import { elementsOf, elementText } from '../markup/xml.ts'
import { openZip, type ZipDocument } from '../zip.ts'

/** Signature of Microsoft's older container, which encrypted files use. */
const OLE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])

/**
 * Opens a document, with the name of its main part and the parts to which that refers.
 * @param usual name of the main part where the file does not say it
 * @throws document_invalid (damaged, encrypted), payload_too_large
 */
export async function openOffice(bytes: Uint8Array, usual: string) {
  const message = 'The file is encrypted, or of a format before 2007: save it in the newer format without a password.'
  if (OLE.equals(bytes.subarray(0, OLE.length))) throw new DocumentError('encrypted', message)
  const zip = await openZip(bytes)
  const main = (await relatedParts(zip, '')).find(({ type }) => type === 'officeDocument')?.part ?? usual
  const title = elementText(await partText(zip, 'docProps/core.xml'), 'title')
  return { zip, main, related: await relatedParts(zip, main), title }
}

/** The parts that a part refers to (ECMA-376, part 2), and the last segments of their types ("styles"); of the whole file for an empty name. */
export async function relatedParts(zip: ZipDocument, part: string) {
  const folder = path.dirname(part)
  const xml = await partText(zip, path.join(folder, '_rels', `${path.basename(part)}.rels`))
  return elementsOf(xml, 'Relationship').map(({ attribs: { Id = '', Type = '', Target = '' } }) => ({
    id: Id,
    type: path.basename(Type),
    part: Target.startsWith('/') ? Target.slice(1) : path.join(folder, Target),
  }))
}

/** A part's XML; empty if there is none. */
export async function partText(zip: ZipDocument, name: string): Promise<string> {
  return zip.names.includes(name) ? zip.read(name) : ''
}

/** What a part of a slide, a sheet or a drawing is that is not read. */
export function unreadPart(type: string): string | undefined {
  if (type === 'comments') return type
  if (type === 'diagramData') return 'diagrams'
  if (/^(?:ctrlProp|control)$/.test(type)) return 'form fields'
  if (/^(?:oleObject|package)$/.test(type)) return 'embedded objects'
  return /^(?:audio|video)$/.test(type) ? 'sounds and films' : type.startsWith('chart') ? 'charts' : undefined
}

export function valueOf(element: Element | undefined): string {
  return element?.attribs.val ?? ''
}

/** A property that is there and not switched off. */
export function isOn(property: Element | undefined): boolean {
  return property !== undefined && !['0', 'false', 'off'].includes(valueOf(property))
}

/** A number as a format shows it that has none of the ways to mark a negative one. */
const UNSIGNED = /^(?=.*[1-9])[\d.,'\u2019\s%\p{Sc}]{0,60}(?:\p{Lu}{3}|\p{L}?\p{Ll}{1,2}\.?)?[\d.,'\u2019\s%\p{Sc}]{0,60}$/u

/** A shown number with its sign, where the format shows it by a colour alone. */
export function signed(text: string, value: number): string {
  return value < 0 && UNSIGNED.test(text) ? `-${text.trimStart()}` : text
}

/** A date of ISO 8601 without a time of midnight, and without seconds of 0. */
export function shownDate(date: string): string {
  return date.replace(/(?:T00:00(?::00(?:\.0+)?)?|(T\d\d:\d\d):00(?:\.0+)?)Z?$/, '$1').replace('T', ' ')
}
