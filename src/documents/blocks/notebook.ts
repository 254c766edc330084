import { Type, type Static } from '#typebox'
import { Value } from '#typebox/value'
import { parseJson } from '../../../base/json.ts'
import { DocumentError } from '../errors.ts'
import type { Block, BlockDocument } from './contract.ts'
import { markdownDocument } from './markdown.ts'

/** A text in one string or in lines. */
const TextSchema = Type.Union([Type.String(), Type.Array(Type.String())])
const OutputSchema = Type.Object({
  text: Type.Optional(TextSchema),
  data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  ename: Type.Optional(Type.String()),
  evalue: Type.Optional(Type.String()),
})
const CellSchema = Type.Object({
  cell_type: Type.String(),
  source: Type.Optional(TextSchema),
  input: Type.Optional(TextSchema),
  outputs: Type.Optional(Type.Array(OutputSchema)),
})
/** nbformat 3 keeps its cells in worksheets. */
const NotebookSchema = Type.Object({
  cells: Type.Optional(Type.Array(CellSchema)),
  worksheets: Type.Optional(Type.Array(Type.Object({ cells: Type.Array(CellSchema) }))),
})
/** Characters of a cell's output. */
const MOST_OUTPUT = 4000

/** A Jupyter notebook: its Markdown, its code and the text of its outputs. @throws document_invalid */
export function notebookDocument(text: string): Omit<BlockDocument, 'type'> {
  const notebook = parseJson(text)
  if (!Value.Check(NotebookSchema, notebook)) throw new DocumentError('damaged', 'The file is no notebook: it has no cells.')
  const cells = notebook.cells ?? notebook.worksheets?.flatMap((sheet) => sheet.cells) ?? []
  let [images, cut] = [0, 0]
  const blocks = cells.flatMap(({ cell_type: type, source, input, outputs = [] }): readonly Block[] => {
    const said = joined(source ?? input)
    if (type === 'markdown' || type === 'heading') return markdownDocument(said).blocks
    images += outputs.filter(({ data }) => Object.keys(data ?? {}).some((name) => name.startsWith('image/'))).length
    const shown = outputs.map(outputText).join('\n').trim()
    if (shown.length > MOST_OUTPUT) cut++
    return [said, shown.slice(0, MOST_OUTPUT)].flatMap((one) =>
      one.trim() === '' ? [] : [{ kind: 'code', text: one.trimEnd().normalize() }],
    )
  })
  return {
    title: '',
    blocks,
    warnings: [
      ...(images > 0 ? [`Not read: images in outputs (${images}).`] : []),
      ...(cut > 0 ? [`Outputs longer than ${MOST_OUTPUT} characters were cut (${cut}).`] : []),
    ],
  }
}

function outputText({ text, data = {}, ename, evalue }: Static<typeof OutputSchema>): string {
  const plain = data['text/plain']
  if (ename !== undefined) return `${ename}: ${evalue ?? ''}`
  return joined(text) + (Value.Check(TextSchema, plain) ? joined(plain) : '')
}

function joined(text: Static<typeof TextSchema> = ''): string {
  return typeof text === 'string' ? text : text.join('')
}
