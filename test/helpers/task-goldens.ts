import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readGolden, type Golden } from '../../models/golden.ts'
import { fixtureDir } from './built-fixture.ts'

const TASKS = fileURLToPath(new URL('../../../shared/fixtures/tasks/', import.meta.url))

/** Why goldens of the evaluation tasks cannot be compared here, or false. They were made with the checkpoint cepe-tiny. */
export function withoutTaskGoldens(): string | false {
  return existsSync(TASKS) && fixtureDir('cepe-tiny') !== undefined ? false : 'goldens of the evaluation tasks are not at hand'
}

/** Outputs of the reference implementation on cepe-tiny. */
export function taskGolden(name: string): Promise<Golden> {
  return readGolden(taskGoldenFile(`${name}.safetensors`))
}

export function taskGoldenFile(name: string): string {
  return path.join(TASKS, name)
}
