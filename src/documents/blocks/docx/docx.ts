import path from 'node:path/posix'
import { DocumentError } from '../../errors.ts'
import type { BlockDocument } from '../contract.ts'
import { markupBlocks } from '../markup/markup.ts'
import { elementsIn, tidy } from '../markup/tidy.ts'
import { elementsOf, elementText, parseXml } from '../xml.ts'
import { openZip, type ZipDocument } from '../zip.ts'
import { Body } from './body.ts'
import { Numbering } from './numbering.ts'
import { Styles } from './styles.ts'

/** Signature of Microsoft's older container, which encrypted files use. */
const OLE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])

/** A Word document (DOCX). @throws document_invalid (damaged, encrypted), payload_too_large */
export async function docxDocument(bytes: Uint8Array): Promise<BlockDocument> {
  if (OLE.equals(bytes.subarray(0, OLE.length)))
    throw new DocumentError('encrypted', 'The file is encrypted, or older than DOCX: save it as DOCX without a password.')
  const zip = await openZip(bytes)
  const main = (await partsOf(zip, '')).get('officeDocument') ?? 'word/document.xml'
  const parts = await partsOf(zip, main)
  const part = async (type: string): Promise<string> => textOfPart(zip, parts.get(type) ?? path.join(path.dirname(main), `${type}.xml`))
  const body = new Body({
    styles: new Styles(await part('styles')),
    numbering: new Numbering(await part('numbering')),
    notes: [...elementsOf(await part('footnotes'), 'footnote'), ...elementsOf(await part('endnotes'), 'endnote')],
  })
  const nodes = body.read(parseXml((await zip.read(main)).toString()).children)
  tidy(elementsIn(nodes))
  const title = elementText(await textOfPart(zip, 'docProps/core.xml'), 'title')
  return { type: 'docx', title, blocks: markupBlocks(nodes), warnings: body.warnings }
}

/** A part's related parts, by the last segment of their type. */
async function partsOf(zip: ZipDocument, part: string): Promise<ReadonlyMap<string, string>> {
  const folder = path.dirname(part)
  const xml = await textOfPart(zip, path.join(folder, '_rels', `${path.basename(part)}.rels`))
  return new Map(
    elementsOf(xml, 'Relationship').map(({ attribs: { Type = '', Target = '' } }) => [
      path.basename(Type),
      Target.startsWith('/') ? Target.slice(1) : path.join(folder, Target),
    ]),
  )
}

/** A part's XML; empty if there is none. */
async function textOfPart(zip: ZipDocument, name: string): Promise<string> {
  return zip.names.includes(name) ? (await zip.read(name)).toString() : ''
}
