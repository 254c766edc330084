/** Shows the progress of a stage. */
export interface Progress {
  /** @param total 0 if unknown */
  update(done: number, total: number, detail?: string): void
  stop(): void
}

/** Creates the progress display of one stage. */
export type StartProgress = (title: string, unit: string) => Progress

/** Bytes as whole megabytes, for progress displays. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6)
}
