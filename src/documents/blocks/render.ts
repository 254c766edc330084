import type { Block } from './contract.ts'

/** Renders blocks as one text with Markdown headings. */
export function renderBlocks(blocks: readonly Block[]): string {
  return blocks.map((block) => `${rendered(block)}\n\n`).join('')
}

function rendered(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${block.text}`
    case 'list':
      return block.items.join('\n')
    case 'table':
      return block.rows.join('\n')
    case 'paragraph':
    case 'code':
      return block.text
  }
}
