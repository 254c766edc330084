/** Shows how far a step has come. */
export interface Progress {
  /** @param total 0 where it is not known. */
  update(done: number, total: number, detail?: string): void
  stop(): void
}

/** Makes the progress display of one step. */
export type StartProgress = (title: string, unit: string) => Progress

/** Bytes as whole megabytes, for progress displays. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6)
}
