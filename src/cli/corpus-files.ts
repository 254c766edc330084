import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { CodedError } from '../../base/errors.ts'

const CORPUS = /\.(tsv|csv|jsonl|ndjson|json|parquet)(\.gz)?$/i

/**
 * The files that arguments name: files as they are, folders as the corpus files in them and below, in the order of their names.
 * @throws not_found for an argument that is nothing, corpus_invalid for a folder without corpus files
 */
export async function corpusFiles(given: readonly string[]): Promise<string[]> {
  const files: string[] = []
  for (const name of given) {
    const at = path.resolve(name)
    const found = await stat(at).catch(() => undefined)
    if (found === undefined) throw new CodedError('not_found', `The file ${at} does not exist.`, { field: 'file' })
    if (!found.isDirectory()) {
      files.push(at)
      continue
    }
    const inside = (await readdir(at, { recursive: true })).filter((file) => CORPUS.test(file)).sort()
    if (inside.length === 0)
      throw new CodedError('corpus_invalid', `The folder ${at} holds no .tsv, .csv, .jsonl, .json or .parquet files.`, { field: 'file' })
    files.push(...inside.map((file) => path.join(at, file)))
  }
  return files
}
