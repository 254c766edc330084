import { READ_LIMITS } from '../read/contract.ts'
import { passageId } from '../read/validate.ts'
import { refuse } from './contract.ts'

/** Normalises an id as in the plan. @param where position in the file @throws corpus_invalid for an invalid id */
export function checkedId(given: unknown, file: string, where: string): string {
  const id = passageId(given, READ_LIMITS.idBytes)
  return typeof id === 'string' ? id : refuse(file, `has no id in ${where}: ${id.problem}`)
}
