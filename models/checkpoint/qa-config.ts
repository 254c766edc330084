import { join } from 'node:path'
import { QaDefaultsSchema, type QaDefaults } from '../manifest.ts'
import { parseAs, readJson } from './json.ts'

/**
 * A checkpoint folder's question answering settings: qa_config.json as it stands, and checked. Both are undefined without that file.
 * @throws checkpoint_invalid naming the field that is wrong
 */
export async function readQaDefaults(dir: string): Promise<{ readonly qaConfig: unknown; readonly qaDefaults: QaDefaults | undefined }> {
  const qaConfig = await readJson(join(dir, 'qa_config.json'))
  return { qaConfig, qaDefaults: qaConfig === undefined ? undefined : parseAs(QaDefaultsSchema, qaConfig, 'qa_config.json') }
}
