import type { Config } from '../../settings.ts'

/** Removes internal details from a text for clients. */
export type PublicText = (text: string) => string

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

/** A path of at least two segments that is not part of a word, an address or a route of this API. */
const PATH = /(?<![\w/:.])(?!\/(?:v1|docs|healthz|readyz|metrics)\b)(?:[A-Za-z]:)?(?:[\\/][^\s\\/"'`:;,()<>]+){2,}/g

/**
 * Replaces folders in messages for clients: configured ones by the names of their settings, other paths by "(path)". The log has the full
 * text.
 */
export function publicText(config: Config): PublicText {
  const known = FOLDERS.flatMap((name) => {
    const folder = config[name]
    if (folder === undefined || folder === '') return []
    const bucket = /^s3:\/\/[^/]+/.exec(folder)?.[0]
    return [{ name, folder }, ...(bucket === undefined ? [] : [{ name, folder: bucket }])]
    // Longest first: one may contain another.
  }).sort((a, b) => b.folder.length - a.folder.length)
  return (text) => known.reduce((rest, { name, folder }) => rest.replaceAll(folder, `(CEPE_${name})`), text).replace(PATH, '(path)')
}
