import { parseDocument } from 'htmlparser2'
import type { Block } from '../contract.ts'
import { textOf } from '../markup/text.ts'

/** Characters of a part of source code, about a passage. */
const PART_CHARACTERS = 800
/** The sign before a word that is no element of subtitles. */
const WORDS_IN_BRACKETS = /<(?!\/?(?:b|i|u|s|c|v|font|lang|ruby|rt|em|strong|br)\b)/gi
const CUE = /^\d{0,3}:?\d{1,2}:\d{2}[.,]\d{3}\s+-->/

/** A log as its lines; source code as parts that end at blank lines between definitions where they can. */
export function sourceBlocks(text: string, type: 'code' | 'log'): Block[] {
  const lines = text.split(/\r\n?|\n/).map((line) => line.trimEnd())
  if (type === 'log') return [{ kind: 'table', rows: lines.filter((line) => line !== '') }]
  const parts: string[] = []
  let part = ''
  for (const [i, line] of lines.entries()) {
    const isBreak = line === '' && /^\S/.test(lines.at(i + 1) ?? '')
    if ((isBreak && part.length > PART_CHARACTERS / 4) || part.length + line.length > PART_CHARACTERS) {
      parts.push(part)
      part = ''
    }
    part += part === '' ? line : `\n${line}`
  }
  return [...parts, part].filter((one) => one.trim() !== '').map((one) => ({ kind: 'code', text: one.replace(/^\n+/, '').trimEnd() }))
}

/** What subtitles (WebVTT, SubRip) say, without times; a cue that continues a sentence continues its paragraph. */
export function subtitleBlocks(text: string): Block[] {
  const cues = text.replace(/\r\n?/g, '\n').split(/\n{2,}/)
  const said = cues.flatMap((cue) => {
    const lines = cue.split('\n')
    const time = lines.findIndex((line) => CUE.test(line.trim()))
    if (time < 0) return []
    const shown = lines
      .slice(time + 1)
      .join(' ')
      .replace(/<v(?:\.\S+)?\s+([^>]*)>/g, '$1: ')
    const marked = shown.replace(/\{\\[^}]*\}|<\d[\d:.]*>/g, '').replace(WORDS_IN_BRACKETS, '&lt;')
    return [textOf(parseDocument(marked).children)]
  })
  const paragraphs: string[] = []
  for (const one of said) {
    const last = paragraphs.at(-1)
    // A cue may repeat the one before it.
    if (one === '' || one === last) continue
    if (last === undefined || /[.!?\u2026\u3002"\u201d)\]]$/.test(last) || /^(?:-|[^:]{1,30}: )/.test(one)) paragraphs.push(one)
    else paragraphs.splice(-1, 1, `${last} ${one}`)
  }
  return paragraphs.map((one) => ({ kind: 'paragraph', text: one }))
}
