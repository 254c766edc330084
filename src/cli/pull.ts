import { counted, sizeText } from '../../base/at.ts'
import path from 'node:path'
import { Command } from 'commander'
import { megabytes } from '../service/follow-job.ts'
import { invalidOption } from '../../base/errors.ts'
import { createProgress } from './program/progress.ts'
import { print, say } from './program/shown.ts'

/** `cepe pull`: fetches a checkpoint from a hub. */
export function pullCommand(): Command {
  return new Command('pull')
    .description('fetch a checkpoint from a Hugging Face hub: the files that cepe build reads (HF_ENDPOINT, HF_TOKEN)')
    .argument('<name>', 'owner/name, or owner/name@revision (a branch, tag or commit)')
    .option('--out <folder>', 'folder of the checkpoint (default: the name without its owner)')
    .action(async (name: string, { out }: { out?: string }) => {
      const [repository = '', revision = 'main'] = name.split('@')
      if (revision === '') throw invalidOption('name', `${name} names no revision after the @: give a branch, tag or commit.`)
      const [{ pullCheckpoint }, { hubSettings }] = await Promise.all([import('../../models/pull/pull.ts'), import('../config.ts')])
      const outDir = out ?? path.basename(repository)
      const progress = createProgress('Fetching', 'MB')
      const { commit, files, bytes } = await pullCheckpoint({
        hub: hubSettings(),
        repository,
        revision,
        outDir,
        onProgress: ({ done, total, name: file }) => progress.update(megabytes(done), megabytes(total), file),
        onWarning: (message) => say(`warning: ${message}`),
      }).finally(() => progress.stop())
      await print(`${outDir}: ${repository}@${commit.slice(0, 12)}, ${counted(files.length, 'file')}, ${sizeText(bytes)}\n`)
    })
}
