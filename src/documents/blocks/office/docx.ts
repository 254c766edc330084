import path from 'node:path/posix'
import type { BlockDocument } from '../contract.ts'
import { markupBlocks } from '../markup/markup.ts'
import { elementsIn, tidy } from '../markup/tidy.ts'
import { elementsOf, parseXml } from '../xml.ts'
import { Body } from './docx-body.ts'
import { Numbering, Styles } from './docx-styles.ts'
import { openOffice, partText } from './parts.ts'

/** A Word document (DOCX). @throws document_invalid (damaged, encrypted), payload_too_large */
export async function docxDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const { zip, main, related, title } = await openOffice(bytes, 'word/document.xml')
  const parts = new Map(related.map(({ type, part }) => [type, part]))
  const part = async (type: string): Promise<string> => partText(zip, parts.get(type) ?? path.join(path.dirname(main), `${type}.xml`))
  const body = new Body({
    styles: new Styles(await part('styles')),
    numbering: new Numbering(await part('numbering')),
    notes: [...elementsOf(await part('footnotes'), 'footnote'), ...elementsOf(await part('endnotes'), 'endnote')],
  })
  const nodes = body.read(parseXml((await zip.read(main)).toString()).children)
  tidy(elementsIn(nodes))
  return { type: 'docx', title, blocks: markupBlocks(nodes), warnings: body.warnings }
}
