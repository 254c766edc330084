import type { Block, BlockDocument } from './contract.ts'

/** Renders a document as one text with Markdown headings, and where its pages begin in it. */
export function renderBlocks({ blocks, pages = 0 }: BlockDocument): { readonly text: string; readonly pages: readonly number[] } {
  const starts: number[] = []
  let text = ''
  for (const block of blocks) {
    const mark = block.kind === 'heading' ? `${'#'.repeat(block.level)} ` : ''
    const { page = 0, breaks = [] } = block
    // A page without text begins where the next one does.
    while (starts.length < page) starts.push(text.length)
    for (const { at, page } of breaks) while (starts.length < page) starts.push(text.length + mark.length + at)
    text += `${mark}${textOf(block)}\n\n`
  }
  while (starts.length < pages) starts.push(text.length)
  return { text, pages: starts }
}

function textOf(block: Block): string {
  if (block.kind === 'list') return block.items.join('\n')
  return block.kind === 'table' ? block.rows.join('\n') : block.text
}
