import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { root } from '../helpers/root.ts'
import { testApp } from '../http/helpers.ts'
import { writeTypes, type Schemas } from './type-writer.ts'

/** The types of `src/client/types.ts`, and those that they refer to, written out from the OpenAPI document. */
export async function clientTypes(t: Parameters<typeof testApp>[0]): Promise<string> {
  const { app } = await testApp(t)
  const { components } = (await app.inject('/docs/json')).json<{ components: { schemas: Schemas } }>()
  const derived = await readFile(path.join(root, 'src/client/types.ts'), 'utf8')
  return writeTypes(
    components.schemas,
    Array.from(derived.matchAll(/^export type (\w+)/gm), ([, name = '']) => name),
  )
}
