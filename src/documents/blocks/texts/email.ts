import PostalMime, { type Address } from 'postal-mime'
import { messageOf } from '../../../../base/errors.ts'
import { DocumentError } from '../../errors.ts'
import { inline, type Block, type BlockDocument } from '../contract.ts'
import { htmlDocument } from '../html.ts'
import { plainBlocks } from '../plain.ts'

const MOST_NAMED = 10
const MAX_NESTING = 50

/** An e-mail: who wrote it to whom and when, its subject as title, and its text. Attachments are named in the warnings. @throws document_invalid */
export async function emailDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: MAX_NESTING }).catch((error: unknown) => {
    throw new DocumentError('damaged', `The file is no readable e-mail (${messageOf(error)}).`, error)
  })
  const head = [
    ['From', named(mail.from === undefined ? [] : [mail.from])],
    ['To', named(mail.to)],
    ['Cc', named(mail.cc)],
    ['Date', mail.headers.find(({ key }) => key === 'date')?.value ?? ''],
  ]
  const rows = head.flatMap(([name = '', value = '']) => (value === '' ? [] : [`${name}: ${value}`]))
  const text = mail.text?.trim() ?? ''
  const blocks: readonly Block[] = text === '' ? htmlDocument(mail.html ?? '').blocks : plainBlocks(text, false)
  const attached = mail.attachments.map(({ filename }) => filename ?? 'unnamed')
  return {
    type: 'email',
    title: inline(mail.subject ?? ''),
    blocks: [...(rows.length === 0 ? [] : [{ kind: 'table' as const, rows }]), ...blocks],
    warnings:
      attached.length === 0
        ? []
        : [`Attachments were not read: ${attached.slice(0, MOST_NAMED).join(', ')}${attached.length > MOST_NAMED ? ' and more' : ''}.`],
  }
}

function named(addresses: readonly Address[] = []): string {
  return addresses.map(({ name, address }) => (address === undefined ? name : name === '' ? address : `${name} <${address}>`)).join(', ')
}
