/** Endings of archives that are opened. */
export const ARCHIVE = /\.(?:zip|tar|tgz|tar\.gz)$/i

/** Whether a file's name is that of an archive. */
export function isArchive(name: string): boolean {
  return ARCHIVE.test(name)
}
