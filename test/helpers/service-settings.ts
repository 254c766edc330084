import path from 'node:path'
import { root } from './root.ts'

const QUIET = { CEPE_THREADS: '1', CEPE_LOG_LEVEL: 'warn' } as const

type Own = Readonly<Record<string, string>>

/** Settings of a service in a folder of its own: the shipped models, built there at its first start, and no corpus. */
export function tinyService(dir: string, own: Own = {}) {
  return {
    CEPE_READER_CHECKPOINT: 'models/tiny/checkpoint/cepe',
    CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
    CEPE_READER_DIR: path.join(dir, 'reader'),
    CEPE_RETRIEVER_DIR: path.join(dir, 'retriever'),
    CEPE_INDEX_DIR: path.join(dir, 'index'),
    CEPE_CORPUS: '',
    ...QUIET,
    ...own,
  }
}

/** The shipped tiny models, built by the first test that needs them and shared by all: processes that build at once wait for one another. */
const SHARED = {
  CEPE_READER_DIR: path.join(root, 'dist-test', 'built', 'reader'),
  CEPE_RETRIEVER_DIR: path.join(root, 'dist-test', 'built', 'retriever'),
} as const

/** As `tinyService`, for tests in which building the models is beside the point. */
export function tinyShared(dir: string, own: Own = {}) {
  return tinyService(dir, { ...SHARED, ...own })
}

/** Settings of a service in a folder of its own over models that were built already, without a corpus or demonstrations. */
export function builtService(dir: string, models: { readonly reader: string; readonly retriever: string }, own: Own = {}) {
  return {
    CEPE_READER_CHECKPOINT: path.join(dir, 'none'),
    CEPE_RETRIEVER_CHECKPOINT: path.join(dir, 'none'),
    CEPE_READER_DIR: models.reader,
    CEPE_RETRIEVER_DIR: models.retriever,
    CEPE_INDEX_DIR: path.join(dir, 'index'),
    CEPE_CORPUS: '',
    CEPE_DEMONSTRATIONS: '',
    ...QUIET,
    ...own,
  }
}
