import type { Admission, RunOptions } from '../inference/contract.ts'

/** What a reading of an admitted request runs with. */
export type AdmittedRun = RunOptions & { readonly cost: number }

export interface Work {
  /** Work of one reading beside that of others. */
  readonly cost: number
  /** Work that the request brings beyond one reading. */
  readonly extraCost?: number
}

/**
 * Runs a request under an admission permit, taken before any work is done for it. The deadline starts here.
 * @param read gets the options of each of its readings: the request's own, with the time that is left
 * @throws overloaded if it is not admitted
 */
export async function withAdmission<Response>(
  admission: Admission,
  { cost, extraCost = 0 }: Work,
  run: RunOptions,
  read: (left: () => AdmittedRun) => Promise<Response>,
): Promise<Response> {
  const started = performance.now()
  const { deadlineMs } = run
  const permit = admission.enter({ ...run, cost: cost + extraCost })
  let done = false
  try {
    const response = await read(() => ({
      ...run,
      cost,
      admitted: true,
      ...(deadlineMs !== undefined && { deadlineMs: deadlineMs - (performance.now() - started) }),
    }))
    done = true
    return response
  } finally {
    permit.release(done)
  }
}
