import mammoth from 'mammoth'
import { messageOf } from '../../../base/errors.ts'
import { DocumentError } from '../errors.ts'
import type { BlockDocument } from './contract.ts'
import { markupBlocks } from './markup/markup.ts'
import { parseMarkup } from './markup/tidy.ts'
import { elementText } from './xml.ts'
import { openZip } from './zip.ts'

/** Signature of Microsoft's older container, which encrypted files use. */
const OLE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])
const STYLES = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='Subtitle'] => p:fresh",
  "p[style-name='Source Code'] => pre:separator('\\n')",
  "p[style-name='HTML Preformatted'] => pre:separator('\\n')",
  "p[style-name='Preformatted Text'] => pre:separator('\\n')",
]

/** A Word document (DOCX). @throws document_invalid (damaged, encrypted), payload_too_large */
export async function docxDocument(bytes: Uint8Array): Promise<BlockDocument> {
  if (OLE.equals(bytes.subarray(0, OLE.length)))
    throw new DocumentError('encrypted', 'The file is encrypted, or older than DOCX: save it as DOCX without a password.')
  const zip = await openZip(bytes)
  // Check every entry's actual size first: the library trusts the sizes declared in the archive.
  for (const name of zip.names) if (name.endsWith('.xml') || name.endsWith('.rels')) await zip.read(name)
  const title = zip.names.includes('docProps/core.xml') ? elementText((await zip.read('docProps/core.xml')).toString(), 'title') : ''
  const { value } = await mammoth
    .convertToHtml(
      { buffer: Buffer.from(bytes) },
      { styleMap: STYLES, convertImage: mammoth.images.imgElement(() => Promise.resolve({ src: '' })) },
    )
    .catch((error: unknown) => {
      throw new DocumentError('damaged', `The file is no readable DOCX (${messageOf(error)}).`, error)
    })
  return { type: 'docx', title, blocks: markupBlocks(parseMarkup(value).children) }
}
