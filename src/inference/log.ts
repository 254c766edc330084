/** Log function of the process supervision. */
export type Log = (level: 'info' | 'warn' | 'error', message: string) => void
