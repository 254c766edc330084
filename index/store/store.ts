import type { Lock } from '../../base/locks/lock.ts'

/**
 * Where an index is stored: a folder or an address in an object store. Locations are strings; `storeOf` maps a location to its store.
 * Differences are exposed as properties, so that callers ask for a capability and never for the kind.
 */
export interface Store {
  /** Other files can be stored next to the tables (job records, answers, calibrations), visible to every process of the index. */
  readonly keepsFiles: boolean
  /** Folders can be renamed and hard-linked atomically. Otherwise a record written last marks a copy as complete. */
  readonly renames: boolean
  /** Acknowledged writes are durable, complete and verified by the store: no fsync, checksum or rollback is needed. */
  readonly durable: boolean
  /** Each read is a request of tens of milliseconds. */
  readonly slowReads: boolean
  /** A lock may be lost without notice: check it before a write, and fence it off after (`locks.check`). */
  readonly locksCanBeLost: boolean
  /** The location below another. */
  join(dir: string, ...names: readonly string[]): string
  /** An absolute location; relative ones are resolved against `base`. */
  resolve(base: string, location: string): string
  /** Checks that the store is available, for writing too if requested; creators check folders. @throws config_invalid, store_unavailable */
  check(dir: string, options: { readonly writes: boolean }): Promise<void>
  /** Free bytes; Infinity if unknown. */
  freeBytes(dir: string): Promise<number>
  /** LanceDB's storage options; undefined if it needs none. */
  lanceOptions(): Record<string, string> | undefined
  readonly files: Files
  readonly values: Values
  readonly locks: Locks
  readonly logs: Logs
  readonly marks: Marks
}

/** A file in a folder or below. */
export interface FileInfo {
  /** Relative path, with slashes. */
  readonly name: string
  readonly bytes: number
  /** True if its content has another hard link, and outlives its deletion. */
  readonly shared: boolean
}

/** Files and folders. Files that another process removes during a call are skipped. */
export interface Files {
  /** Creates a folder and its parents; idempotent. */
  makeFolder(dir: string): Promise<void>
  /** Sorted names directly in a folder; empty if the folder does not exist. */
  list(dir: string): Promise<string[]>
  /** Files in a folder and below, by name. @param most stops after this many */
  walk(dir: string, most?: number): AsyncIterable<FileInfo>
  /** Milliseconds since the last change of a file or folder, at least; Infinity if it does not exist. */
  age(path: string): Promise<number>
  /** Changes if another folder takes the place of this one, as after unmounting; undefined if it does not exist. */
  identity(dir: string): Promise<string | undefined>
  /** Reads a small file, of UTF-8 by default; undefined if it does not exist. */
  read(path: string, encoding?: 'latin1'): Promise<string | undefined>
  /** Writes a small file atomically; durable when it resolves. */
  write(path: string, text: string): Promise<void>
  /** Removes a file; idempotent. */
  remove(path: string): Promise<void>
  removeTree(dir: string): Promise<void>
  /** Renames a folder atomically and durably. @throws unsupported if the store cannot */
  rename(from: string, to: string): Promise<void>
  /** Copies a file within the store: by a hard link where possible. @returns false without a source @throws unsupported if it is too large */
  copy(from: string, to: string, options: { readonly bytes: number; readonly writtenOnce: boolean }): Promise<boolean>
  /** Copies a file to a new local file. @throws not_found if it does not exist */
  download(path: string, to: string): Promise<void>
}

/** Small values that are replaced atomically, each under a lock (`locks.of`). */
export interface Values {
  /** @returns undefined if there is none; null for a damaged one */
  read(path: string): Promise<unknown>
  /** @throws conflict if the lock of the value was lost */
  write(path: string, value: Readonly<Record<string, unknown>>): Promise<void>
  /** Creates a value. @returns false if it exists */
  create(path: string, value: Readonly<Record<string, unknown>>): Promise<boolean>
  remove(path: string): Promise<void>
  /** Milliseconds since the last change of the value; Infinity if there is none. */
  age(path: string): Promise<number>
}

export interface LockOptions {
  /** 0 to try once. */
  readonly waitMs: number
  readonly signal?: AbortSignal | undefined
  /** If locks can be lost: called before a lock is granted that its holder did not release, to fence off that holder's late writes. */
  readonly onTakeover?: () => Promise<void>
  /** Only avoids duplicate work: writes are correct without it. */
  readonly advisory?: boolean
}

interface Locks {
  /** @returns undefined if others hold it for longer than `waitMs` */
  take(location: string, options: LockOptions): Promise<Lock | undefined>
  /** Location of a value's lock: `file`, or the value itself if one write covers both. */
  of(value: string, file: string): string
  /** Checks that this process still holds its locks of an index. @throws conflict */
  check(dir: string): Promise<void>
}

/** Append-only logs, several in a folder. */
export interface Logs {
  /** Sorted names of the open logs. */
  names(folder: string): Promise<string[]>
  /** Opens a log; idempotent. */
  begin(folder: string, name: string): Promise<void>
  end(folder: string, name: string): Promise<void>
  /** Appends an entry, a JSON text on one line; durable when it resolves. After a lost response it may occur twice. Opens no ended log. */
  append(folder: string, name: string, entry: string): Promise<void>
  /** Returns a function that reads the entries added since its last call. */
  reader(folder: string, name: string): () => Promise<string[]>
}

/** Files that mark active work of live processes. */
export interface Marks {
  /** @returns a function that removes the mark. Best effort: without write permission other processes do not see it */
  put(folder: string, name: string): Promise<() => Promise<void>>
  /** Names of the marks of live processes. Removes those of dead ones. */
  list(folder: string): Promise<string[]>
}
