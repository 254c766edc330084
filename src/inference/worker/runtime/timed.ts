/** @returns what the work comes to, and the milliseconds that it takes */
export async function timed<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly ms: number }> {
  const started = performance.now()
  const result = await work()
  return { result, ms: performance.now() - started }
}
