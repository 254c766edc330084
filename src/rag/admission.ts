import { withTimeLeft, type Admission, type RunOptions } from '../inference/contract.ts'

/** Options for readings of an admitted request. */
export type AdmittedRun = RunOptions & { readonly cost: number }

export interface Work {
  /** Relative work of one reading. */
  readonly cost: number
  /** Work of the request beyond one reading. */
  readonly extraCost?: number
}

/**
 * Runs a request under an admission permit, acquired before any work is done for it. The deadline starts here.
 * @param read receives the options for its readings: the request's own, with the remaining time
 * @throws overloaded if it is not admitted
 */
export async function withAdmission<Response>(
  admission: Admission,
  { cost, extraCost = 0 }: Work,
  run: RunOptions,
  read: (left: () => AdmittedRun) => Promise<Response>,
): Promise<Response> {
  const started = performance.now()
  const permit = admission.enter({ ...run, cost: cost + extraCost })
  let done = false
  try {
    const response = await read(() => ({ ...withTimeLeft(run, started), cost, admitted: true }))
    done = true
    return response
  } finally {
    permit.release(done)
  }
}
