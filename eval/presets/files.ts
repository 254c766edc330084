import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, osCode } from '../../base/errors.ts'

/** Extensions of a preset's file, in order of preference. */
const ENDINGS = ['.jsonl', '.jsonl.gz', '.json', '.json.gz', '.parquet', '.csv', '.tsv', '.txt']

/** The data files of a folder by their preset names. @throws options_invalid if the folder does not exist */
export async function dataFiles(folder: string): Promise<(name: string) => string | undefined> {
  const there = new Set(
    await readdir(folder).catch((error: unknown) => {
      if (!['ENOENT', 'ENOTDIR'].includes(osCode(error) ?? '')) throw error
      throw new CodedError('options_invalid', `--data must be a folder with the data files, and ${folder} is not a folder: see --plan.`, {
        cause: error,
      })
    }),
  )
  return (name) => {
    const ending = ENDINGS.find((candidate) => there.has(name + candidate))
    return ending === undefined ? undefined : path.join(folder, name + ending)
  }
}
