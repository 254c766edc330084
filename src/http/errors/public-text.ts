import { realpathSync } from 'node:fs'
import { withoutSecrets } from '../../../base/without-secrets.ts'
import type { Config } from '../../settings.ts'

/** Removes internal details from a text for clients. @param repeats whether it may repeat what a client sent, which is kept */
export type PublicText = (text: string, repeats?: boolean) => string

const FOLDERS = [
  'READER_DIR',
  'RETRIEVER_DIR',
  'READER_CHECKPOINT',
  'RETRIEVER_CHECKPOINT',
  'JOBS_DIR',
  'INDEX_DIR',
  'MIRROR_DIR',
  'IMPORT_DIR',
  'KEYS_DIR',
  'STATE_DIR',
  'DATA_DIR',
  'CORPUS',
  'DEMONSTRATIONS',
  'CALIBRATION',
  'FEEDBACK',
] as const

/** An absolute path of at least two segments, but no route of this API. */
const PATH = /(?<![^\s"'`(=,<>[{])(?!\/(?:v1|docs|healthz|readyz|metrics)\b)(?:file:\/\/|[A-Za-z]:)?(?:[\\/][^\s\\/"'`:;,()<>]+){2,}/g

/**
 * Replaces folders in messages for clients: configured ones by the names of their settings, other paths by "(path)". The log has the full
 * text.
 */
export function publicText(config: Config): PublicText {
  const known = FOLDERS.flatMap((name) => {
    const folder = config[name]
    if (folder === undefined || folder === '') return []
    return [folder, /^s3:\/\/[^/]+/.exec(folder)?.[0], realPath(folder)].flatMap((one) =>
      one === undefined ? [] : [{ name, folder: one }],
    )
    // Longest first: one may contain another.
  }).sort((a, b) => b.folder.length - a.folder.length)
  return (text, repeats = false) => {
    const named = known.reduce((rest, { name, folder }) => rest.replaceAll(folder, `(CEPE_${name})`), text)
    return repeats ? named : withoutSecrets(named).replace(PATH, '(path)')
  }
}

function realPath(folder: string): string | undefined {
  try {
    return realpathSync(folder)
  } catch {
    return undefined
  }
}
