import { counted } from '../../../base/at.ts'
import path from 'node:path/posix'
import { attempt } from '../../../base/errors.ts'
import { DocumentError } from '../errors.ts'
import { listed, type Block, type BlockDocument } from './contract.ts'
import { htmlDocument, XHTML } from './markup/html.ts'
import { elementsOf, elementText } from './markup/xml.ts'
import { partText } from './office/parts.ts'
import { openZip, type ZipDocument } from './zip.ts'

const CONTAINER = 'META-INF/container.xml'
const ENCRYPTION = 'META-INF/encryption.xml'
const PAGES = ['application/xhtml+xml', 'text/html']
/** Obfuscated fonts do not affect the text. */
const FONT_METHODS = /idpf\.org\/2008\/embedding|ns\.adobe\.com\/pdf\/enc#RC/

/** Parses an EPUB: chapters in spine order, without the table of contents. @throws document_invalid (damaged, encrypted), payload_too_large */
export async function epubDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const zip = await openZip(bytes)
  await checkReadable(zip)
  const packageFile = elementsOf(await zip.read(CONTAINER), 'rootfile')[0]?.attribs['full-path'] ?? ''
  const opf = await zip.read(packageFile)
  const items = new Map(elementsOf(opf, 'item').map(({ attribs }) => [attribs.id ?? '', attribs]))
  const blocks: Block[] = []
  const [missing, others]: [string[], string[]] = [[], []]
  let shortened = 0
  for (const { attribs } of elementsOf(opf, 'itemref')) {
    const item = items.get(attribs.idref ?? '')
    const { 'media-type': mediaType = '' } = item ?? {}
    if (item?.properties?.split(' ').includes('nav') === true) continue
    const name = path.join(path.dirname(packageFile), decoded(item?.href ?? ''))
    if (item === undefined || !zip.names.includes(name)) missing.push(item?.href ?? attribs.idref ?? '')
    else if (!PAGES.includes(mediaType)) others.push(item.href ?? '')
    else {
      const page = await zip.read(name)
      const links = elementsOf(page, 'link').map(({ attribs }) => path.join(path.dirname(name), decoded(attribs.href ?? '')))
      const sheets = await Promise.all(links.map((link) => partText(zip, link)))
      const chapter = htmlDocument(page, { ...XHTML, linked: sheets.join('\n') })
      for (const one of chapter.blocks) blocks.push(one)
      if (chapter.warnings?.length) shortened++
    }
  }
  if (blocks.length === 0 && missing.length > 0)
    throw new DocumentError('damaged', 'The EPUB is incomplete: its chapters are missing in it.')
  const warnings = missing.length === 0 ? [] : [`Chapters are missing in the EPUB: ${listed(missing)}.`]
  if (others.length > 0) warnings.push(`Chapters that are no web pages were not read: ${listed(others)}.`)
  if (shortened > 0)
    warnings.push(`Menus, headers, footers, hidden parts or texts in drawings were left out in ${counted(shortened, 'chapter')}.`)
  return { title: elementText(opf, 'title'), blocks, warnings }
}

async function checkReadable(zip: ZipDocument): Promise<void> {
  if (!zip.names.includes(CONTAINER)) throw new DocumentError('damaged', 'The file is no EPUB: it has no list of its parts.')
  if (!zip.names.includes(ENCRYPTION)) return
  if (elementsOf(await zip.read(ENCRYPTION), 'EncryptionMethod').some(({ attribs }) => !FONT_METHODS.test(attribs.Algorithm ?? '')))
    throw new DocumentError('encrypted', 'The EPUB is encrypted (DRM).')
}

function decoded(href: string): string {
  return attempt(() => decodeURIComponent(href.replace(/#.*$/, '')), href)
}
