import { CodedError } from '../../base/errors.ts'
import type { Jobs } from './contract.ts'

function refuse(): Promise<never> {
  return Promise.reject(new CodedError('not_found', 'This process is a replica, which runs no jobs: order them from the indexer.'))
}

/** Null implementation for a process without jobs: never accesses the jobs folder. */
export const noJobs: Jobs = {
  addFile: refuse,
  addFolder: refuse,
  addImport: refuse,
  addPages: refuse,
  addShardDir: refuse,
  addReembed: refuse,
  addUpload: refuse,
  addFiles: refuse,
  list: () => Promise.resolve([]),
  get: refuse,
  isAbandoned: refuse,
  replacedTables: () => Promise.resolve([]),
  cancel: refuse,
  resume: refuse,
  reportPath: refuse,
  wait: refuse,
  start: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
