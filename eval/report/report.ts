import path from 'node:path'
import { writeFileDurably } from '../../base/durable.ts'
import { CodedError, onCode } from '../../base/errors.ts'
import { describeProblem, type Problem } from '../datasets/question-set.ts'
import { type Block, list, text, toHtml, toMarkdown } from './blocks.ts'
import { loadPlotter } from './plot.ts'

export interface Report {
  readonly title: string
  readonly blocks: readonly Block[]
}

/**
 * Writes report.md, report.html (without external references) and figures/*.svg and *.png into the folder. Without the plotting packages
 * the report has no figures, and says what to install. Its place is printed to standard error.
 */
export async function writeReport({ title, blocks }: Report, folder: string): Promise<void> {
  const drawn = new Map<string, string>()
  const plotter = await loadPlotter().catch(onCode(['options_invalid'], (error) => error as CodedError))
  if (plotter instanceof CodedError) process.stderr.write(`The report has no figures. ${plotter.message}\n`)
  else
    for (const { name, spec } of blocks.filter((block) => block.kind === 'figure')) {
      const { svg, png } = await plotter.render(spec)
      drawn.set(name, svg)
      await writeFileDurably(path.join(folder, 'figures', `${name}.svg`), svg)
      await writeFileDurably(path.join(folder, 'figures', `${name}.png`), png)
    }
  const shown = blocks.map((block) =>
    plotter instanceof CodedError && block.kind === 'figure' ? text(`Not drawn: ${block.caption} ${plotter.message}`) : block,
  )
  await writeFileDurably(path.join(folder, 'report.md'), toMarkdown(shown))
  await writeFileDurably(path.join(folder, 'report.html'), toHtml(title, shown, drawn))
  process.stderr.write(`Report: ${path.join(folder, 'report.md')} and report.html\n`)
}

/** Skipped items, and items kept with a change. */
export function problemBlock(problems: readonly Problem[], further: readonly string[] = []): Block {
  const lines = [...problems.map(describeProblem), ...further]
  return lines.length === 0 ? text('Nothing was skipped.') : list(lines)
}
