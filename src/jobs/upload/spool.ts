import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Value } from 'typebox/value'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { wellFormed } from '../../../index/passage-metadata.ts'
import type { FileProblem } from '../../../index/read/contract.ts'
import { isDocument, isTable, type FolderFile, type LeftOutFile } from '../folder/list.ts'
import { ManifestSchema, type Manifest } from './contract.ts'
import { isHidden } from './entry-name.ts'

const DIGITS = 6
const MANIFEST = 'files.json'
/** Longest path of a file that is told. */
const LONGEST_NAME = 1000

/** Files of an upload in a folder of their own, under numbers. */
export class FileSpool {
  readonly #folder: string
  readonly #manifest: Manifest[number][] = []
  readonly #names = new Set<string>()
  #number = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Keeps a file of a kind that is read, under a number; any other is read to its end and noted. @throws invalid_request for a name that came before */
  async take(file: string, bytes: AsyncIterable<Buffer>, modified?: Date): Promise<void> {
    if (this.#names.has(file))
      throw new CodedError('invalid_request', `${shown(file)} is there twice: give each file a name of its own.`, { field: 'file' })
    this.#names.add(file)
    const problem = isHidden(file) ? 'hidden' : isDocument(file) || isTable(file) ? undefined : 'not_supported'
    if (problem !== undefined) {
      for await (const _ of bytes) continue
      this.leaveOut(file, problem, problem === 'hidden' ? 'Its name begins with a dot.' : 'Files of this kind are not read.')
      return
    }
    const stored = await this.store(bytes)
    const { size } = await stat(this.pathOf(stored))
    const time = modified === undefined || Number.isNaN(modified.getTime()) ? {} : { modified: modified.toISOString() }
    this.#manifest.push({ file: shown(file), stored, bytes: size, ...time })
  }

  /** Keeps bytes under a number, unlisted. @returns its name in the folder */
  async store(bytes: AsyncIterable<Buffer>): Promise<string> {
    await mkdir(this.#folder, { recursive: true })
    const stored = String(++this.#number).padStart(DIGITS, '0')
    await pipeline(bytes, createWriteStream(this.pathOf(stored), { flags: 'wx', flush: true }))
    return stored
  }

  async drop(stored: string): Promise<void> {
    await rm(this.pathOf(stored), { force: true })
  }

  leaveOut(file: string, problem: FileProblem, detail: string): void {
    this.#manifest.push({ file: shown(file), problem, detail })
  }

  pathOf(stored: string): string {
    return path.join(this.#folder, stored)
  }

  /** Writes down what there is: from then on it can be read again. */
  async finish(): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    await writeFileDurably(path.join(this.#folder, MANIFEST), JSON.stringify(this.#manifest))
  }
}

/** The files of an upload that was kept. @throws internal where it was not kept to its end */
export async function listSpool(folder: string): Promise<(FolderFile | LeftOutFile)[]> {
  const text = await readFile(path.join(folder, MANIFEST), 'utf8').catch(() => '')
  const manifest = parseJson(text)
  if (!Value.Check(ManifestSchema, manifest)) throw new CodedError('internal', 'The upload was not stored to its end: send it again.')
  return manifest
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
    .map((one) => {
      if ('problem' in one) return one
      const { file, stored, bytes, modified } = one
      return { file, path: path.join(folder, stored), bytes, ...(modified !== undefined && { modified: new Date(modified) }) }
    })
}

/** A name as it can be stored and said. */
function shown(file: string): string {
  return wellFormed(file).slice(0, LONGEST_NAME)
}
