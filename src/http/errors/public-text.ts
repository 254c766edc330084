import type { Config } from '../../settings.ts'

/** Makes a text fit for clients. */
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

/** A path of two names or more that does not begin within a word, an address or a route of this API. */
const PATH = /(?<![\w/:.])(?!\/(?:v1|docs|healthz|readyz|metrics)\b)(?:[A-Za-z]:)?(?:[\\/][^\s\\/"'`:;,()<>]+){2,}/g

/**
 * Takes the names of the service's folders out of what it says to clients: the configured ones become the names of their
 * settings, any other path a mere "(path)". Operators find the whole text in the log.
 */
export function publicText(config: Config): PublicText {
  const known = FOLDERS.flatMap((name) => {
    const folder = config[name]
    if (folder === undefined || folder === '') return []
    const bucket = /^s3:\/\/[^/]+/.exec(folder)?.[0]
    return [{ name, folder }, ...(bucket === undefined ? [] : [{ name, folder: bucket }])]
    // The longest first: one may lie in another.
  }).sort((a, b) => b.folder.length - a.folder.length)
  return (text) => known.reduce((rest, { name, folder }) => rest.replaceAll(folder, `(CEPE_${name})`), text).replace(PATH, '(path)')
}
