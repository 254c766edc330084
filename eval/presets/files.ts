import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, osCode } from '../../base/errors.ts'

/** Endings that a preset's file may have, the first that is there counts. */
const ENDINGS = ['.jsonl', '.jsonl.gz', '.json', '.json.gz', '.parquet', '.csv', '.tsv', '.txt']

/** The data files of a folder by the name that presets know them by. @throws options_invalid where there is no such folder */
export async function dataFiles(folder: string): Promise<(name: string) => string | undefined> {
  const there = new Set(
    await readdir(folder).catch((error: unknown) => {
      if (!['ENOENT', 'ENOTDIR'].includes(osCode(error) ?? '')) throw error
      throw new CodedError('options_invalid', `--data must be a folder with the data files, and ${folder} is none: see --plan.`, {
        cause: error,
      })
    }),
  )
  return (name) => {
    const ending = ENDINGS.find((candidate) => there.has(name + candidate))
    return ending === undefined ? undefined : path.join(folder, name + ending)
  }
}
