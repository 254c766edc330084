import path from 'node:path'
import { packageRoot } from '../../src/package.ts'

/** The shipped corpus, the default data of tasks. */
export function demoCorpus(): string {
  return path.join(packageRoot(), 'index', 'corpus', 'passages.tsv')
}

/** A folder of runs, by default. */
export function runsFolder(name: string): string {
  return path.join(packageRoot(), 'eval', 'runs', name)
}

/** A file of the shipped questions, which are about the shipped corpus. */
export function questionFile(name: string): string {
  return path.join(packageRoot(), 'eval', 'questions', name)
}
