/** The tables of a service: that of its settings, and those that are asked for by name. */
import { messageOf } from '../../base/errors.ts'
import { openCollections } from '../../index/collections/collections.ts'
import type { Collections } from '../../index/collections/contract.ts'
import type { EmbedOf, Models } from '../../index/contract.ts'
import { openIndex, type PassageIndex } from '../../index/open.ts'
import type { Log } from '../inference/log.ts'
import type { Config } from '../settings.ts'
import { useScratch } from './paths.ts'

export interface Opening {
  readonly log: Log | undefined
  readonly embedOf: EmbedOf
}

/** Opens the main collection; a replica with a copy reads that. */
export async function openPassages(
  config: Config,
  { model, furtherModels = [] }: Models,
  { log, embedOf }: Opening,
): Promise<PassageIndex> {
  await useScratch()
  return openIndex({
    dir: config.ROLE === 'replica' ? (config.MIRROR_DIR ?? config.INDEX_DIR) : config.INDEX_DIR,
    table: config.TABLE,
    model,
    furtherModels,
    embedOf,
    ...openedAs(config, log),
  })
}

/** Opens the main collection, and those beside it by their names, which a replica reads from where they are. What an earlier process began to remove goes first. */
export async function openTables(config: Config, models: Models, opening: Opening): Promise<Collections> {
  const { log, embedOf } = opening
  const collections = openCollections({
    main: await openPassages(config, models, opening),
    dir: config.INDEX_DIR,
    mostOpen: config.MAX_OPEN_COLLECTIONS,
    embedOf,
    ...openedAs(config, log),
  })
  if (config.ROLE !== 'replica')
    await collections.finishRemovals().catch((error: unknown) => log?.('warn', `A collection is not quite removed: ${messageOf(error)}`))
  return collections
}

function openedAs(config: Config, log: Log | undefined) {
  return {
    readOnly: config.ROLE === 'replica',
    keepMs: config.KEEP_VERSIONS_MIN * 60_000,
    onWarning: (message: string) => (log ? log('warn', message) : process.emitWarning(message)),
  }
}
