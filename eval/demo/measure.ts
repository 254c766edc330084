import { Type } from '#typebox'
import { Value } from '#typebox/value'
import { MODES, type Mode } from '../../src/text/plan.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import type { AnswerClient } from '../client/client.ts'
import { evaluate } from '../tasks/open-domain-qa/evaluate.ts'
import { prepare, type EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { readRun, type StoredRun } from '../tasks/open-domain-qa/run.ts'

const InfoSchema = Type.Object({
  reader: Type.Object({ defaults: Type.Object({ mode: Type.Enum([...MODES]), k: Type.Integer() }) }),
})

/** Mode and number of passages of the reader in service, as it is asked by default. */
export async function defaultsOf(url: string): Promise<{ method: Mode; k: number }> {
  const info: unknown = await (await fetch(`${url}/v1/info`)).json()
  const { mode, k } = Value.Parse(InfoSchema, info).reader.defaults
  return { method: mode, k }
}

/** Asks the questions of one run, with a progress line, and reads the run back. @throws as `prepare` and `evaluate` */
export async function measure(
  client: AnswerClient,
  options: EvaluationOptions,
  { folder, concurrency }: { readonly folder: string; readonly concurrency: number },
): Promise<StoredRun> {
  const prepared = await prepare(options, client)
  const progress = createProgress(`Evaluating ${options.dataset}`, 'questions')
  try {
    await evaluate({
      client,
      folder,
      concurrency,
      onProgress: (done, total, detail) => progress.update(done, total, detail),
      ...prepared,
    })
  } finally {
    progress.stop()
  }
  return readRun(folder)
}
