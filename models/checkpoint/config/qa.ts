import { join } from 'node:path'
import { QaDefaultsSchema, type QaDefaults } from '../../manifest.ts'
import { parseAs, readJson } from './json.ts'

/**
 * Reads a checkpoint folder's question answering settings: qa_config.json, raw and validated. Both are undefined without that file.
 * @throws checkpoint_invalid naming the wrong field
 */
export async function readQaDefaults(dir: string): Promise<{ readonly qaConfig: unknown; readonly qaDefaults: QaDefaults | undefined }> {
  const qaConfig = await readJson(join(dir, 'qa_config.json'))
  return { qaConfig, qaDefaults: qaConfig === undefined ? undefined : parseAs(QaDefaultsSchema, qaConfig, 'qa_config.json') }
}
