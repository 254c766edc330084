import { rm } from 'node:fs/promises'
import { type CodedError, messageOf } from '../../base/errors.ts'
import { type Models } from '../contract.ts'
import { aliasAge, aliasPath, readAlias, writeAlias } from '../versions/alias.ts'
import { unservable } from '../versions/compatibility.ts'
import { connectLance } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { type CopyOptions, openTableCopies, RETIRE_MS, type TableCopies } from './table-copies.ts'

/** Polling interval: a commit or another table is noticed within half of it, on average. */
const DEFAULT_EVERY_MS = 500

interface ReplicaCacheOptions extends CopyOptions {
  readonly table: string
  /** Loaded models: a table of another model does not replace the copy of a usable one. Without it, any table is copied. */
  readonly models?: Models
  readonly everyMs?: number
  /** Called once for each problem. */
  readonly onWarning?: ((message: string) => void) | undefined
}

export type ReplicaCache = Awaited<ReturnType<typeof startReplicaCache>>

/** Copies the newest state of a table. */
function updatesOf({ from, to, table, models, onWarning }: ReplicaCacheOptions, copies: TableCopies) {
  /** Why the last copy failed; earlier copies stay in use. */
  let trouble: string | undefined
  /** Why the newest table is not copied although the store is available; the copy of the previous one stays in use. */
  let refused: CodedError | undefined
  /** The last table whose model was checked, and why it must not be copied. */
  let judged: { readonly storedAs: string; readonly verdict: CodedError | undefined } | undefined
  /** Time of the last successful check. */
  let checkedAt: Date | undefined
  let running = Promise.resolve()

  /** Returns why a table must not replace the copy: this process could not search it. */
  const judge = async (storedAs: string): Promise<CodedError | undefined> => {
    if (models === undefined) return undefined
    if (judged?.storedAs === storedAs) return judged.verdict
    using connection = await connectLance(from, undefined)
    const metadata = await readMetadata(await connection.openTable(storedAs))
    const verdict = unservable(table, metadata, models)
    judged = { storedAs, verdict }
    return verdict
  }

  const refuse = (why: CodedError | undefined): void => {
    if (why !== undefined && why.message !== refused?.message) onWarning?.(`The replica cache was not updated: ${why.message}`)
    refused = why
  }

  const update = async (): Promise<void> => {
    try {
      const newest = await readAlias({ dir: from, table })
      const own = { dir: to, table }
      const mine = await readAlias(own)
      if (newest === undefined) throw new Error(`there is no table "${table}" in ${from}`)
      const replaces = mine !== undefined && mine !== newest
      refuse((replaces ? await judge(newest) : undefined) ?? (await copies.copy(newest)))
      if (refused === undefined) {
        if (mine !== newest) await writeAlias(own, newest)
        // Copies of replaced tables, after a delay.
        if ((await aliasAge(own)) >= RETIRE_MS) await copies.removeOthers(newest, `${table}.`)
      }
      trouble = undefined
      checkedAt = new Date()
    } catch (error) {
      const found = `the table cannot be copied from the object store: ${messageOf(error)}`
      if (trouble === undefined) onWarning?.(found)
      trouble = found
      throw error
    }
  }

  return {
    status: () => ({ trouble, refused, checkedAt }),
    /** Checks now, and resolves when the copy is up to date. @throws the reason if it cannot be */
    sync: (): Promise<void> => {
      running = running.catch(() => undefined).then(update)
      return running
    },
  }
}

/**
 * Starts to follow a table. Its immutable files are copied before the manifest that refers to them, and the alias last.
 * @throws disk_full if there is no copy and the table exceeds the limit
 */
export async function startReplicaCache(options: ReplicaCacheOptions) {
  const { from, to, table, everyMs = DEFAULT_EVERY_MS } = options
  const copies = await openTableCopies(options)
  const { status, sync } = updatesOf(options, copies)
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const follow = (): void => {
    if (closed) return
    timer = setTimeout(() => {
      sync()
        .catch(() => undefined)
        .finally(follow)
    }, everyMs).unref()
  }

  await sync().catch(() => undefined)
  const { refused } = status()
  if (refused?.code === 'disk_full') {
    // Before any reader, an old copy may go, if the newest table fits without it.
    const newest = (await readAlias({ dir: from, table })) ?? ''
    if (await copies.fitsAlone(newest)) {
      await rm(aliasPath({ dir: to, table }), { force: true })
      await copies.removeOthers('', '')
      await sync().catch(() => undefined)
    } else if ((await readAlias({ dir: to, table })) === undefined) throw refused
  }
  follow()
  return {
    status,
    sync,
    close: (): void => {
      closed = true
      clearTimeout(timer)
    },
  }
}
