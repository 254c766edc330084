import path from 'node:path/posix'
import { DocumentError } from '../../errors.ts'
import type { BlockDocument } from '../contract.ts'
import { markupBlocks } from '../markup/markup.ts'
import { elementsIn, tidy } from '../markup/tidy.ts'
import { elementsOf, elementText, parseXml } from '../xml.ts'
import { openZip } from '../zip.ts'
import { Body } from './docx-body.ts'
import { Numbering } from './docx-numbering.ts'
import { Styles } from './docx-styles.ts'
import { partText, relatedParts } from './parts.ts'

/** Signature of Microsoft's older container, which encrypted files use. */
const OLE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])

/** A Word document (DOCX). @throws document_invalid (damaged, encrypted), payload_too_large */
export async function docxDocument(bytes: Uint8Array): Promise<BlockDocument> {
  if (OLE.equals(bytes.subarray(0, OLE.length)))
    throw new DocumentError('encrypted', 'The file is encrypted, or older than DOCX: save it as DOCX without a password.')
  const zip = await openZip(bytes)
  const main = (await relatedParts(zip, '')).find(({ type }) => type === 'officeDocument')?.part ?? 'word/document.xml'
  const parts = new Map((await relatedParts(zip, main)).map(({ type, part }) => [type, part]))
  const part = async (type: string): Promise<string> => partText(zip, parts.get(type) ?? path.join(path.dirname(main), `${type}.xml`))
  const body = new Body({
    styles: new Styles(await part('styles')),
    numbering: new Numbering(await part('numbering')),
    notes: [...elementsOf(await part('footnotes'), 'footnote'), ...elementsOf(await part('endnotes'), 'endnote')],
  })
  const nodes = body.read(parseXml((await zip.read(main)).toString()).children)
  tidy(elementsIn(nodes))
  const title = elementText(await partText(zip, 'docProps/core.xml'), 'title')
  return { type: 'docx', title, blocks: markupBlocks(nodes), warnings: body.warnings }
}
