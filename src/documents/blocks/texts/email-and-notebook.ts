import { type Address, default as PostalMime } from 'postal-mime'
import { messageOf } from '../../../../base/errors.ts'
import { DocumentError } from '../../errors.ts'
import { type Block, type BlockDocument, inline, listed } from '../contract.ts'
import { htmlDocument } from '../markup/html.ts'
import { plainBlocks } from './plain.ts'
import { parseJson } from '../../../../base/json.ts'
import { markdownDocument } from '../markup/markdown.ts'

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
    title: inline(mail.subject ?? ''),
    blocks: [...(rows.length === 0 ? [] : [{ kind: 'table' as const, rows }]), ...blocks],
    warnings: attached.length === 0 ? [] : [`Attachments were not read: ${listed(attached)}.`],
  }
}

function named(addresses: readonly Address[] = []): string {
  return addresses.map(({ name, address }) => (address === undefined ? name : name === '' ? address : `${name} <${address}>`)).join(', ')
}

/** Characters of a cell's output. */
const MOST_OUTPUT = 4000

type Fields = Readonly<Record<string, unknown>>

/** A Jupyter notebook (nbformat 3 and 4): its Markdown, its code and the text of its outputs. @throws document_invalid */
export function notebookDocument(text: string): BlockDocument {
  const notebook = fieldsOf(parseJson(text))
  const cells = [notebook, ...listOf(notebook.worksheets)].flatMap(({ cells }) => listOf(cells))
  if (cells.length === 0) throw new DocumentError('damaged', 'The file is no notebook: it has no cells.')
  let [images, cut] = [0, 0]
  const blocks = cells.flatMap(({ cell_type: type, source, input, outputs }): readonly Block[] => {
    const said = textOf(source ?? input)
    if (type === 'markdown' || type === 'heading') return markdownDocument(said).blocks
    const shown = listOf(outputs).map((output) => {
      const data = fieldsOf(output.data)
      if (Object.keys(data).some((name) => name.startsWith('image/'))) images++
      return typeof output.ename === 'string'
        ? `${output.ename}: ${textOf(output.evalue)}`
        : textOf(output.text) + textOf(data['text/plain'])
    })
    const output = shown.join('\n').trim()
    if (output.length > MOST_OUTPUT) cut++
    return [said, output.slice(0, MOST_OUTPUT)].filter((one) => one.trim() !== '').map((one) => ({ kind: 'code', text: one.trimEnd() }))
  })
  const warnings = [
    ...(images > 0 ? [`Not read: images in outputs (${images}).`] : []),
    ...(cut > 0 ? [`Outputs longer than ${MOST_OUTPUT} characters were cut (${cut}).`] : []),
  ]
  return { title: '', blocks, warnings }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** A text in one string or in lines. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : Array.isArray(value) ? value.map(textOf).join('') : ''
}
