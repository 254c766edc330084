import { parseJson } from '../../../../base/json.ts'
import { DocumentError } from '../../errors.ts'
import type { Block, BlockDocument } from '../contract.ts'
import { markdownDocument } from '../markdown.ts'

/** Characters of a cell's output. */
const MOST_OUTPUT = 4000

type Fields = Readonly<Record<string, unknown>>

/** A Jupyter notebook (nbformat 3 and 4): its Markdown, its code and the text of its outputs. @throws document_invalid */
export function notebookDocument(text: string): Omit<BlockDocument, 'type'> {
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
