/** Where the inference processes' supervision reports what operators should know. */
export type Log = (level: 'info' | 'warn' | 'error', message: string) => void

export const silent: Log = () => undefined
