import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Tokenizer } from '../../../src/text/tokenizer.ts'
import { orThrow } from '../../../base/errors.ts'
import { readRegular } from '../../../base/exists.ts'
import { isObject } from '../../../base/json.ts'
import type { ProblemLog } from '../../datasets/question-set.ts'
import { readCorpus } from '../../datasets/read.ts'
import { invalidDataset, namedFile, readItems } from '../../datasets/records.ts'

export interface LanguageText {
  readonly id: string
  readonly domain: string
  readonly ids: readonly number[]
  /** Tokens before `ids`, in files that separate them. */
  readonly before?: readonly number[]
  readonly contexts?: readonly { readonly ids: readonly number[]; readonly score: number }[]
}

const Ids = Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1 })
const ContextSchema = Type.Object({
  text: Type.Optional(Type.String()),
  ids: Type.Optional(Ids),
  title: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  score: Type.Optional(Type.Union([Type.Number(), Type.String(), Type.Null()])),
})
const TextSchema = Type.Object({
  id: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  domain: Type.Optional(Type.String()),
  text: Type.Optional(Type.String()),
  ids: Type.Optional(Ids),
  /** RedPajama's files: the tokens of a document and those before them. */
  token_ids: Type.Optional(Ids),
  prev_token_ids: Type.Optional(Ids),
  ctxs: Type.Optional(Type.Array(ContextSchema)),
})
const isText = Compile(TextSchema)

/**
 * Reads texts as ids: JSON lines or Parquet ({text} or {ids}, with ctxs; or token_ids and prev_token_ids), a passage file (like
 * psgs_w100.tsv: the passages of a title are one text), or one plain text.
 * @param textField field of the records' text
 * @throws dataset_invalid naming the problem
 */
export async function readTexts(file: string, tokenizer: Tokenizer, textField = 'text') {
  const named = await namedFile(file).catch((error: unknown) => {
    throw invalidDataset(`${file} cannot be read.`, error)
  })
  if (isPassageFile(file)) return { ...named, ...(await articles(file, tokenizer)) }
  if (!/\.(jsonl?(\.gz)?|parquet)$/.test(file)) {
    const ids = tokenizer.encode(plainText(await readRegular(file), file), { bos: true })
    return { ...named, texts: [{ id: named.file, domain: named.file, ids }], problems: [] }
  }
  const wanted = 'no texts: wanted are {"text"} or {"ids"} lines, token_ids with prev_token_ids, a passage .tsv, or plain text.'
  const { items: texts, problems } = await readItems(file, wanted, (record, at, problems) => {
    const value = withText(record, textField)
    return isText.Check(value) ? understood(value, { at, problems }, tokenizer) : 'no text or ids'
  })
  return { ...named, texts, problems }
}

/** Whether a file contains passages, whose titles are texts: such texts are joined until they are long enough. */
export function isPassageFile(file: string): boolean {
  return /\.tsv(\.gz)?$/.test(file)
}

/** Uses another field of a record as its text. */
function withText(record: unknown, field: string): unknown {
  return field === 'text' || !isObject(record) ? record : { ...record, text: record[field] }
}

/** @throws dataset_invalid for anything but text, which would be scored all the same */
function plainText(bytes: Uint8Array, file: string): string {
  const wanted =
    'wanted is plain text in UTF-8, .jsonl or a passage .tsv (cepe read takes PDF and HTML, one document and question at a time)'
  if (bytes.includes(0)) throw invalidDataset(`${file} is no text file: ${wanted}.`)
  const decode = (): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  const text = orThrow(decode, (error) => invalidDataset(`${file} is not UTF-8: ${wanted}.`, error))
  if (text.startsWith('%PDF-')) throw invalidDataset(`${file} is a PDF file: ${wanted}.`)
  if (text.trim() === '') throw invalidDataset(`${file} has no text: ${wanted}.`)
  return text
}

/** A record's text, or the problem for which it is skipped. */
function understood(
  value: Static<typeof TextSchema>,
  { at, problems }: { readonly at: string; readonly problems: ProblemLog },
  tokenizer: Tokenizer,
): LanguageText | string {
  const ids = value.ids ?? value.token_ids ?? (value.text === undefined ? undefined : tokenizer.encode(value.text, { bos: true }))
  if (ids === undefined || ids.length === 0) return 'no text or ids'
  const given = value.ctxs?.map(({ ids: own, text = '', score }) => ({ ids: own ?? tokenizer.encode(text), score: Number(score ?? 0) }))
  if (given?.some(({ score }) => !Number.isFinite(score))) return 'context whose score is no number'
  const contexts = given?.filter((context) => context.ids.length > 0)
  if (contexts?.length !== given?.length) problems.add('context without text or ids', at, 'kept')
  return {
    id: String(value.id ?? at),
    domain: value.domain ?? 'all',
    ids,
    ...(value.prev_token_ids && { before: value.prev_token_ids }),
    ...(contexts && { contexts }),
  }
}

async function articles(file: string, tokenizer: Tokenizer) {
  const { byTitle, problems } = await readCorpus(file)
  const textOf = (passages: readonly { readonly text: string }[]) => passages.map(({ text }) => text).join('\n')
  const texts = [...byTitle].map(([title, passages]): LanguageText => {
    return { id: title, domain: title, ids: tokenizer.encode(textOf(passages), { bos: true }) }
  })
  return { texts, problems }
}

/** Joins neighbouring texts until each has at least `tokens`; drops the rest. */
export function joinTexts(texts: readonly LanguageText[], tokens: number): LanguageText[] {
  const joined: LanguageText[] = []
  let open: LanguageText | undefined
  for (const text of texts) {
    open = open ? { ...open, ids: [...open.ids, ...text.ids] } : text
    if (open.ids.length >= tokens) {
      joined.push(open)
      open = undefined
    }
  }
  return joined
}

/** The complete slices of `size` values, from the first. */
export function slices<T>(values: readonly T[], size: number): (readonly T[])[] {
  return Array.from({ length: Math.floor(values.length / size) }, (_, i) => values.slice(i * size, (i + 1) * size))
}
