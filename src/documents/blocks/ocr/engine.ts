import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { keptOrMade } from '../../../../base/at.ts'
import { messageOf } from '../../../../base/errors.ts'
import { OCR_LIMITS } from '../../contract.ts'
import { DocumentError } from '../../errors.ts'
import { ocrPackages } from '../../../../base/exists.ts'
import { listed } from '../contract.ts'

/** Of tesseract.js-core: Tesseract's C++ API, and Emscripten's file system in memory. */
interface Api {
  Init(folder: string, languages: string, engine: number): number
  SetImageFile(rotation: number, angle: number): number
  Recognize(monitor: null): number
  MeanTextConf(): number
  GetUTF8Text(): string
}
interface Core {
  readonly TessBaseAPI: new () => Api
  readonly FS: { mkdir(path: string): void; writeFile(path: string, bytes: Uint8Array): void }
}

/** Tesseract's engine of neural networks, the only one of the data. */
const LSTM = 1
/** Mean confidence, of 100, below which a page is a photo or a drawing. */
const LEAST_CONFIDENCE = 40
export const NO_TEXT = 'no legible text'

let opened: { readonly languages: string; readonly core: Core; readonly api: Api } | undefined

export type Ocr = ReturnType<typeof createOcr>

/**
 * A function that recognises pages, in this process, by their pictures as files. A page that fails is named in the warnings.
 * @param onPage called before each page
 */
export function createOcr(languages: string, onPage: () => void) {
  return async (pages: readonly number[], pictures: (page: number) => Promise<Uint8Array>) => {
    const texts = new Map<number, string>()
    const failed = new Map<string, number[]>()
    for (const [i, page] of pages.entries()) {
      try {
        if (i >= OCR_LIMITS.pages) throw new Error(`more than ${OCR_LIMITS.pages} pages`)
        onPage()
        texts.set(page, await textOf(await pictures(page), languages))
      } catch (error) {
        keptOrMade(failed, messageOf(error), () => []).push(page)
      }
    }
    const warnings = [...failed].map(([reason, pages]) => `Not read by OCR: ${reason} (pages ${listed(pages)}).`)
    const read = texts.size === 0 ? [] : [`Read by OCR, which may err: pages ${listed([...texts.keys()])}.`]
    return { texts, warnings: [...read, ...warnings] }
  }
}

async function textOf(picture: Uint8Array, languages: string): Promise<string> {
  const { core, api } = opened?.languages === languages ? opened : (opened = await open(languages))
  try {
    core.FS.writeFile('/input', picture)
    // After a failure Tesseract would recognise the picture before.
    if (api.SetImageFile(1, 0) !== 0) throw new Error('the picture is damaged')
    if (api.Recognize(null) !== 0) throw new Error('the recognition failed')
    const text = api.MeanTextConf() < LEAST_CONFIDENCE ? '' : api.GetUTF8Text()
    if (text.trim() === '') throw new Error(NO_TEXT)
    return text
  } catch (error) {
    // A program that was aborted cannot be used again.
    if (error instanceof Error && error.name === 'RuntimeError') opened = undefined
    throw error
  }
}

async function open(languages: string): Promise<NonNullable<typeof opened>> {
  const { files, missing } = ocrPackages(languages)
  const [program, ...data] = files
  if (program === undefined || missing.length > 0) throw new DocumentError('not_supported', `OCR needs ${missing.join(', ')}.`)
  const create = createRequire(import.meta.url)(program) as (options: object) => Promise<Core>
  const core = await create({ print: () => undefined, printErr: () => undefined })
  core.FS.mkdir('/d')
  for (const file of data) core.FS.writeFile(`/d/${path.basename(file, '.gz')}`, gunzipSync(readFileSync(file)))
  const api = new core.TessBaseAPI()
  if (api.Init('/d', languages, LSTM) !== 0) throw new Error(`the data of ${languages} cannot be used`)
  return { languages, core, api }
}
