import { Command } from 'commander'
import type { AheadProgress } from '../../jobs/ahead/encode-ahead.ts'
import { loadConfig } from '../program/run-program.ts'
import { interruptible } from '../program/interrupted.ts'
import { createProgress } from '../program/progress.ts'
import { collectionOption } from '../program/options.ts'

/** `cepe index encode-ahead`: Ctrl-C leaves what is stored, and another run resumes from there. */
export function encodeAheadCommand(): Command {
  return new Command('encode-ahead')
    .description('precompute the encoder states of all passages on disk (CEPE_STATE_DISK_MB)')
    .addOption(collectionOption())
    .action(async ({ collection: table }: { collection?: string }) => {
      const config = await loadConfig({ TABLE: table })
      const [{ encodeIndexAhead }, { openAheadEncoding, requireStateDisk }, { ensureReader }] = await Promise.all([
        import('../../jobs/ahead/encode-ahead.ts'),
        import('../../service/indexing.ts'),
        import('../../service/setup.ts'),
      ])
      requireStateDisk(config)
      await ensureReader(config, createProgress)
      const { index, reader, close } = await openAheadEncoding(config)
      const progress = createProgress('Encoding passages ahead', 'passages')
      try {
        const onProgress = (now: AheadProgress): void => progress.update(now.done, now.total, detail(now))
        const { done, stored, bytes } = await interruptible(
          (signal) => encodeIndexAhead({ index, reader, onProgress, signal }),
          () => 'Interrupted: stored states are kept; run the command again to resume.',
        )
        progress.stop()
        process.stdout.write(`${done} passages have states on the disk: ${stored} new ones of ${megabytes(bytes)} MB\n`)
      } finally {
        progress.stop()
        await close()
      }
    })
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)
}

function detail({ bytes, left }: AheadProgress): string {
  return left === undefined ? '' : `${megabytes(bytes)} MB written, about ${megabytes(left)} MB to come`
}
