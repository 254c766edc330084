/** The words of small documents of every kind are the words of their passages. Cases: one file per kind in `cases/`, listed in `cases/list.ts`. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createPassageReader } from '../../../src/documents/corpus/reader.ts'
import { createDocumentParser } from '../../../src/documents/parser.ts'
import { ReadDocumentSchema, type DocumentPassage } from '../../../src/documents/schema.ts'
import { ReadingProcess } from '../../../src/documents/corpus/process.ts'
import { documentType } from '../../../src/documents/type.ts'
import { CASES } from './cases/list.ts'
import { SKIPS } from '../../helpers/skips.ts'
import { wordChanges, wordsOf } from './compare.ts'
import type { FidelityCase } from './contract.ts'

const FILES = 'test/documents/fidelity/files'
const SHARED = '../shared/inputs/documents'

const reader = createPassageReader({ parseMs: 60_000 })
const parser = createDocumentParser({ parseMs: 60_000 })
/** Reads what the parser reads, in one process for all files. */
const process = new ReadingProcess({ parseMs: 60_000 })
const { signal } = new AbortController()
t.teardown(() => {
  reader.close()
  parser.close()
  process.close()
})

for (const [kind, cases] of Object.entries(CASES))
  void t.test(kind, async (t) => {
    for (const one of cases) {
      const bytes = await bytesOf(one)
      await t.test(one.file, { skip: bytes === undefined && SKIPS.shared }, async (t) => bytes && check(t, one, bytes, one === cases[0]))
    }
  })

async function bytesOf({ file, content }: FidelityCase): Promise<Buffer | undefined> {
  if (content !== undefined) return typeof content === 'function' ? content() : Buffer.from(content)
  const found = [FILES, SHARED].map((folder) => path.join(folder, file)).find((one) => existsSync(one))
  return found === undefined ? undefined : readFile(found)
}

/** @param isFirst of its kind: it is asked too, in a process of its own */
async function check(t: Test, expected: FidelityCase, bytes: Buffer, isFirst: boolean): Promise<void> {
  const { file, mediaType, words = 100 } = expected
  const source = { bytes, name: file, ...(mediaType !== undefined && { mediaType }) }
  const { passages, warnings } = await reader.read(source, { words, signal })
  if (expected.says !== undefined) t.same(wordChanges(wordsOf(expected.says), wordsOf(saidBy(passages))), { lost: [], added: [] })
  checkPhrases(t, expected, passages)
  const of = (phrase: string): readonly DocumentPassage[] => passages.filter(({ text }) => text.includes(phrase))
  for (const [phrase, page] of Object.entries(expected.pages ?? {})) t.equal(of(phrase)[0]?.page, page, `page of ${phrase}`)
  for (const [phrase, heading] of Object.entries(expected.headings ?? {})) t.equal(of(phrase)[0]?.heading, heading, `heading of ${phrase}`)
  if (expected.pagesBy !== undefined)
    t.same(
      passages.map(({ page }) => page),
      passages.map(expected.pagesBy),
      'pages',
    )
  if (expected.warnings !== undefined) t.match(warnings, expected.warnings)
  if (expected.title !== undefined)
    for (const { title } of passages) t.ok(title.startsWith(expected.title), `${title} begins with the title`)
  if (expected.joined !== undefined) t.equal(passages.map(({ text }) => text).join(''), expected.joined)
  const [least = 0, most = Infinity] = expected.characters ?? []
  for (const { length } of passages.map(({ text }) => text).slice(0, -1)) t.ok(length >= least && length <= most, `${length} characters`)
  const task = { ...source, type: documentType(source) }
  const asked = await process.run(task, ReadDocumentSchema, signal)
  if (isFirst && asked.type !== 'text') t.match(await parser.read(source), { text: asked.text, pages: asked.pages, warnings })
  if (asked.type !== 'text') {
    const whole = await reader.read(source, { words: Infinity, signal })
    const text = asked.text.replace(/^#+ .*$/gm, '')
    t.same(
      wordChanges(wordsOf(whole.passages.map(({ text }) => text).join('\n')), wordsOf(text)),
      { lost: [], added: [] },
      'the text that is asked',
    )
    t.same(asked.warnings, warnings)
  }
  for (const phrase of expected.lacks ?? []) t.notOk(asked.text.includes(phrase), `asked: no ${phrase}`)
}

function checkPhrases(t: Test, { has = [], lacks = [], lines = [] }: FidelityCase, passages: readonly DocumentPassage[]): void {
  const all = passages.map(({ text }) => text).join('\n')
  let from = 0
  for (const phrase of has) {
    const at = all.indexOf(phrase, from)
    t.ok(at >= 0, `has ${phrase}`, { found: all })
    from = Math.max(from, at)
  }
  for (const line of lines) t.ok(all.split('\n').includes(line), `line ${line}`, { found: all })
  for (const { title, text, heading } of passages)
    for (const phrase of lacks) t.notOk([title, text, heading].join('\n').includes(phrase), `no ${phrase}`)
}

/** The passages in the notation of `says`. */
function saidBy(passages: readonly DocumentPassage[]): string {
  return passages.map(({ text, heading }, i) => (heading === (passages[i - 1]?.heading ?? '') ? text : `[${heading}] ${text}`)).join('\n')
}
