import { realpathSync } from 'node:fs'
import { attempt, withoutSecrets } from '../../../base/errors.ts'
import type { Config } from '../../settings.ts'

/** Removes internal details from a text for clients. @param repeats whether it may repeat what a client sent, which is kept */
export type PublicText = (text: string, repeats?: boolean) => string

/** An absolute path of at least two segments, but no route of this API. */
const PATH = /(?<![^\s"'`(=,<>[{])(?!\/(?:v1|docs|healthz|readyz|metrics)\b)(?:file:\/\/|[A-Za-z]:)?(?:[\\/][^\s\\/"'`:;,()<>]+){2,}/g

/** Replaces folders in messages for clients: configured ones by variables, other paths by `<path>`. The log has the full text. */
export function publicText(config: Config): PublicText {
  const known = Object.entries(config)
    .flatMap(([name, folder]) => {
      if (typeof folder !== 'string' || name === 'BASE_PATH' || !/^(?:\/|s3:)/.test(folder)) return []
      const ways = [folder, /^s3:\/\/[^/]+/.exec(folder)?.[0], attempt(() => realpathSync(folder), undefined)]
      return ways.flatMap((one) => (one === undefined ? [] : [{ name, folder: one }]))
      // Longest first: one may contain another.
    })
    .sort((a, b) => b.folder.length - a.folder.length)
  return (text, repeats = false) => {
    const named = known.reduce((rest, { name, folder }) => rest.replaceAll(folder, `$CEPE_${name}`), text)
    return repeats ? named : withoutSecrets(named).replace(PATH, '<path>')
  }
}
