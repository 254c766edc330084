import { parseDocument } from 'htmlparser2'
import type { Block } from '../contract.ts'
import { textOf } from '../markup/text.ts'

/** Characters of a part of source code, about a passage. */
const PART_CHARACTERS = 800
/** The sign before a word that is no element of subtitles. */
const WORDS_IN_BRACKETS = /<(?!\/?(?:b|i|u|s|c|v|font|lang|ruby|rt|em|strong|br)\b)/gi
const TIMES = /^\s*((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})\s+-->\s+((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})/
/** Ends of cues: blank lines, which may be left out before a number and times. */
const CUE_END = /\n{2,}|\n\s{0,20}(?=(?:\d+[ \t]*\n)?[ \t]*[\d:]+[.,]\d{3}\s+-->)/
/** Parts of WebVTT that are no cues, and numbers of cues. */
const NO_CUE = /^(?:\ufeff?WEBVTT|NOTE|STYLE|REGION)\b|^\s*\d*\s*$/
/** Milliseconds between two cues at most, of which the second may repeat the end of the first. */
const NEXT_MS = 50

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

function shownIn(line: string): string {
  const shown = line
    .replace(/<v(?:\.\S+)?\s+([^>]*)>/g, '$1: ')
    .replace(/\{\\[^}]*\}|<\d[\d:.]*>/g, '')
    .replace(/<rt>([^<]*)(?:<\/rt>)?/g, '($1)')
    .replace(WORDS_IN_BRACKETS, '&lt;')
  return textOf(parseDocument(shown).children)
}

function millisecondsOf(time: string): number {
  return time.split(/[:.,]/).reduce((sum, part, i, all) => sum * (i === all.length - 1 ? 1000 : 60) + Number(part), 0)
}

/** What subtitles (WebVTT, SubRip) say, without times; a cue that continues a sentence continues its paragraph. */
export function subtitleBlocks(text: string): Block[] {
  let [before, ended]: [string[], number] = [[], -Infinity]
  const said = text
    .replace(/\r\n?/g, '\n')
    .split(CUE_END)
    .map((cue) => {
      const lines = cue.split('\n')
      const time = lines.findIndex((line) => TIMES.test(line))
      // Before the first cue there is nothing to continue.
      if (time < 0 && (ended < 0 || NO_CUE.test(cue))) return ''
      const [, from, to] = TIMES.exec(lines.at(time) ?? '') ?? []
      const shown = lines
        .slice(time + 1)
        .map(shownIn)
        .filter((line) => line !== '')
      let repeated = from !== undefined && millisecondsOf(from) - ended <= NEXT_MS ? shown.length : 0
      while (repeated > 0 && before.slice(-repeated).join('\n') !== shown.slice(0, repeated).join('\n')) repeated--
      before = shown
      if (to !== undefined) ended = millisecondsOf(to)
      return shown.slice(repeated).join(' ')
    })
  const paragraphs: string[] = []
  for (const one of said) {
    const last = paragraphs.at(-1)
    if (one === '') continue
    if (last === undefined || /[.!?\u2026\u3002"\u201d)\]]$/.test(last) || /^(?:-|[^:]{1,30}: )/.test(one)) paragraphs.push(one)
    else paragraphs.splice(-1, 1, `${last} ${one}`)
  }
  return paragraphs.map((one) => ({ kind: 'paragraph', text: one }))
}
