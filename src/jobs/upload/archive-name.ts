/** Extensions of supported archives. */
export const ARCHIVE = /\.(?:zip|tar|tgz|tar\.gz)$/i

/** True if the file name has the extension of an archive. */
export function isArchive(name: string): boolean {
  return ARCHIVE.test(name)
}
