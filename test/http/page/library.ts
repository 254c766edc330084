import type { Test } from 'tap'
import type { Passage } from '../../../index/contract.ts'
import type { AnswerServices } from '../../../src/rag/pipeline.ts'
import type { Services } from '../../../src/service/services.ts'
import { testApp } from '../helpers.ts'
import { saidServices } from './said-services.ts'

type Linked = Parameters<NonNullable<AnswerServices['fileOf']>>[0]

export const ADMIN_KEY = 'the-admin-key-of-the-library'
const opera = (position: number, page: number, text: string): Passage => ({
  id: `opera#${10 - position}`,
  title: 'Opera guide',
  text,
  source: 'music/opera.pdf',
  metadata: { position, page, heading: `Act ${position}` },
})
export const PASSAGES: readonly Passage[] = [
  opera(2, 3, 'Having become known for Aida, the musician Giuseppe Verdi died in 1901. He was a musician of great skill.'),
  opera(1, 2, 'The first night in Cairo was in 1871.'),
  { id: 'web', title: 'Install', text: 'Install it with npm.', source: 'https://docs.example.org/install' },
  { id: 'none', title: 'Note', text: 'A note of no source:\n- one item\n- another' },
]

/** A service over a small library, which answers every question with Giuseppe Verdi. */
export async function library(t: Test, { settings = {}, said = 'giuseppe verdi', ...changes }: LibraryOptions = {}) {
  const answering = {
    ...saidServices(said, PASSAGES),
    fileOf: ({ id, source, metadata }: Linked) =>
      source?.endsWith('.pdf') ? `v1/passages/${encodeURIComponent(id)}/file#page=${String(metadata?.['page'])}` : undefined,
  }
  const made = await testApp(t, { answering, ...changes }, { ADMIN_KEY, ...settings })
  const { index, collections } = made.services
  const add = (passages: readonly Passage[]) =>
    index.upsert(
      passages,
      passages.map(() => Float32Array.of(1, 0)),
    )
  await add(PASSAGES)
  await collections.create('contracts')
  return { ...made, add, url: await made.app.listen({ host: '127.0.0.1', port: 0 }) }
}

interface LibraryOptions extends Partial<Services> {
  readonly settings?: Record<string, unknown>
  readonly said?: string
}
