import type { Admission, RunOptions } from '../inference/contract.ts'

/** What a reading of an admitted request runs with. */
export type AdmittedRun = RunOptions & { readonly cost: number }

export interface Work {
  /** Work of one reading beside that of others. */
  readonly cost: number
  /** Work that the request brings beyond one reading. */
  readonly beyond?: number
}

/**
 * Takes a request's place before any work is done for it, and holds it to the end. The deadline runs from here.
 * @param read gets what each of its readings runs with: the request's own options, less the time that has passed
 * @throws overloaded at the door
 */
export async function letIn<Response>(
  admission: Admission,
  { cost, beyond = 0 }: Work,
  run: RunOptions,
  read: (left: () => AdmittedRun) => Promise<Response>,
): Promise<Response> {
  const started = performance.now()
  const { deadlineMs } = run
  const permit = admission.enter({ ...run, cost: cost + beyond })
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
