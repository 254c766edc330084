import { createProgress } from '../../src/cli/progress.ts'
import { loadConfig, type Config } from '../../src/config.ts'
import { answerQuestion } from '../../src/rag/answer.ts'
import { searchPassages } from '../../src/rag/retrieve.ts'
import { createServices, type Services } from '../../src/services.ts'
import { ensureArtefacts } from '../../src/setup.ts'
import type { AnswerClient } from './client.ts'

/** The pipeline of constructed services, without HTTP. */
export function servicesClient(services: Pick<Services, 'answering' | 'close'>, deadlineMs: number): AnswerClient {
  return {
    name: 'in process',
    answer: (request) => answerQuestion(request, services.answering, { deadlineMs }),
    search: (request) => searchPassages(request, services.answering.retriever, { deadlineMs }),
    close: () => services.close(),
  }
}

/** Starts the pipeline in this process with the service's own settings, `overrides` first; builds models and index where missing. */
export async function createInProcessClient(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<AnswerClient> {
  const config = loadConfig(overrides)
  await ensureArtefacts(config, createProgress)
  return servicesClient(await createServices(config), config.DEADLINE_MS)
}
