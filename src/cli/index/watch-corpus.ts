import path from 'node:path'
import { CodedError } from '../../../base/errors.ts'
import { isTable } from '../../jobs/folder/list.ts'
import type { Corpus } from './corpus-files.ts'
import { folderChanges } from './folder-changes.ts'
import { Interrupted } from '../program/interrupted.ts'

export interface Watch {
  /** Polling interval in seconds. */
  readonly seconds: number
  /** The present corpus. */
  readonly corpus: () => Promise<Corpus>
  /** Indexes it; stops early with the signal. */
  readonly add: (corpus: Corpus, signal: AbortSignal) => Promise<void>
}

/**
 * Indexes files and folders, and then their changes, until Ctrl-C or SIGTERM. Errors of one run are printed, and retried with the next
 * change.
 * @throws Interrupted if a job was running at the end; errors other than CodedError
 */
export async function watchCorpus(given: readonly string[], { seconds, corpus, add }: Watch): Promise<void> {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  try {
    const paths = given.map((one) => path.resolve(one))
    for await (const changed of folderChanges(paths, { everyMs: seconds * 1000, signal: ending.signal })) {
      await run(changed, { corpus, add, signal: ending.signal })
      if (!ending.signal.aborted) process.stdout.write(`Watching ${given.join(', ')} for changes, every ${seconds} s; Ctrl-C ends it\n`)
    }
    process.stdout.write('Watching has ended; nothing is left undone\n')
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, end)
  }
}

interface Run extends Pick<Watch, 'corpus' | 'add'> {
  readonly signal: AbortSignal
}

async function run(changed: ReadonlySet<string>, { corpus, add, signal }: Run): Promise<void> {
  try {
    await add(changedOf(await corpus(), changed), signal)
  } catch (error) {
    if (error instanceof Interrupted) throw error
    if (signal.aborted) return
    if (!(error instanceof CodedError)) throw error
    process.stderr.write(`cepe: ${error.message}\n`)
  }
}

/** The changed part of a corpus: changed tables and archives, and folders of documents with a changed file. */
function changedOf(corpus: Corpus, changed: ReadonlySet<string>): Corpus {
  const { tables, documents, archives } = corpus
  const inside = (folder: string): string[] => [...changed].filter((file) => file.startsWith(folder + path.sep))
  return {
    ...corpus,
    tables: tables.filter((file) => changed.has(file)),
    archives: archives.filter((file) => changed.has(file)),
    documents: documents.filter(({ path: folder, only }) => {
      if (only !== undefined) return only.some((name) => changed.has(path.join(folder, name)))
      return inside(folder).some((file) => !isTable(file))
    }),
  }
}
