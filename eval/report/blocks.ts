import { Marked } from 'marked'
import type { TopLevelSpec } from 'vega-lite'

/** An element of a report, with plain texts; rendered as Markdown and as HTML. */
export type Block =
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | {
      readonly kind: 'table'
      readonly header: readonly string[]
      readonly rows: readonly (readonly string[])[]
      /** Columns from the left that hold words, not numbers. */
      readonly wordColumns: number
    }
  | Figure

/** A chart, with a name that is unique in the report. */
export interface Figure {
  readonly kind: 'figure'
  readonly name: string
  readonly caption: string
  readonly spec: TopLevelSpec
}

export function heading(level: 1 | 2 | 3, text: string): Block {
  return { kind: 'heading', level, text }
}
export function text(value: string): Block {
  return { kind: 'text', text: value }
}
export function list(items: readonly string[]): Block {
  return { kind: 'list', items }
}
export function table(header: readonly string[], rows: readonly (readonly string[])[], wordColumns = 1): Block {
  return { kind: 'table', header, rows, wordColumns }
}

/** A column of a table: its header, and what it shows of an item. */
export type Column<Item> = readonly [header: string, of: (item: Item, position: number) => string]

/** One row per item. */
export function itemTable<Item>(items: readonly Item[], columns: readonly Column<Item>[]): Block {
  const rows = items.map((item, i) => columns.map(([, of]) => of(item, i)))
  const header = columns.map(([name]) => name)
  return table(header, rows)
}
export function figure(name: string, caption: string, spec: TopLevelSpec): Figure {
  return { kind: 'figure', name, caption, spec }
}

/** A number as text, or `-` if it is NaN. */
export function number(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits)
}

/** Escapes Markdown markup, addresses, in which other escapes would count, and line breaks, which would end a table row. */
function escapeMarkdown(value: string): string {
  return value
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_[\]|~]|:(?=\/\/)|(?<=www)\./g, '\\$&')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
}

/** Renders GitHub-flavoured Markdown; figures are `figures/<name>.svg` beside it. */
export function toMarkdown(blocks: readonly Block[]): string {
  return `${blocks.map(blockToMarkdown).join('\n\n')}\n`
}

function blockToMarkdown(block: Block): string {
  if (block.kind === 'heading') return `${'#'.repeat(block.level)} ${escapeMarkdown(block.text)}`
  if (block.kind === 'text') return escapeMarkdown(block.text)
  if (block.kind === 'list') return block.items.map((item) => `- ${escapeMarkdown(item)}`).join('\n')
  if (block.kind === 'figure') return `![${escapeMarkdown(block.caption)}](figures/${block.name}.svg)`
  const row = (cells: readonly string[]) => `| ${cells.map(escapeMarkdown).join(' | ')} |`
  const rule = `| ${block.header.map((_, i) => (i < block.wordColumns ? '---' : '---:')).join(' | ')} |`
  return [row(block.header), rule, ...block.rows.map(row)].join('\n')
}

function escapeHtml(value: string): string {
  return value.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;margin:1rem 0;font-size:.9rem}th,td{padding:.3rem .7rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
[align=right]{text-align:right;font-variant-numeric:tabular-nums}figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}figcaption{color:#555}`

/** Addresses of mail stay text: a report refers to nothing outside. */
const marked = new Marked({ renderer: { link: ({ text }) => text } })

/** Renders one HTML file of the Markdown of its blocks, without external references; `figures` are SVG texts by name. */
export function toHtml(title: string, blocks: readonly Block[], figures: ReadonlyMap<string, string>): string {
  const rendered = blocks.map((block) =>
    block.kind === 'figure'
      ? `<figure>${figures.get(block.name) ?? ''}<figcaption>${escapeHtml(block.caption)}</figcaption></figure>\n`
      : marked.parse(blockToMarkdown(block), { async: false }),
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(title)}</title>
<style>${STYLE}</style></head>
<body>
${rendered.join('')}</body>
</html>
`
}
