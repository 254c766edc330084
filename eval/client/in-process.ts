import { createProgress } from '../../src/cli/progress.ts'
import { loadConfig } from '../../src/config.ts'
import type { Config } from '../../src/settings.ts'
import { CodedError } from '../../base/errors.ts'
import { createAdmission } from '../../src/inference/pool/admission.ts'
import { loadDemonstrations } from '../../src/rag/demonstrations.ts'
import { answerQuestion } from '../../src/rag/answer.ts'
import type { AnswerServices } from '../../src/rag/pipeline.ts'
import { searchPassages } from '../../src/rag/retrieve.ts'
import { createServices, type Services } from '../../src/services.ts'
import { ensureArtefacts } from '../../src/setup.ts'
import type { AnswerClient } from './client.ts'
import { createReaderClient } from './reader.ts'

/** The pipeline of constructed services, without HTTP. */
export function servicesClient(services: Pick<Services, 'answering' | 'close'>, deadlineMs: number): AnswerClient {
  return {
    name: 'in process',
    answer: (request) => answerQuestion(request, services.answering, { deadlineMs }),
    search: (request) => searchPassages(request, services.answering.retriever, { deadlineMs }),
    close: () => services.close(),
  }
}

/** The pipeline without retriever and index, for questions that bring their passages. */
export async function createReadingClient(): Promise<AnswerClient> {
  const config = loadConfig()
  const client = await createReaderClient()
  const { reader } = client
  const none = (): never => {
    throw new CodedError('options_invalid', 'Passages are supplied with the questions: there is no retriever to search with.')
  }
  const services: AnswerServices = {
    reader,
    admission: createAdmission({ maxWaiting: config.QUEUE, places: config.READERS ?? 1 }),
    retriever: {
      get embedder() {
        return none()
      },
      get index() {
        return none()
      },
    },
    demonstrations: config.DEMONSTRATIONS === '' ? [] : await loadDemonstrations(config.DEMONSTRATIONS),
  }
  return {
    name: 'in process',
    answer: (request) => answerQuestion(request, services, { deadlineMs: config.DEADLINE_MS }),
    search: none,
    close: () => client.close(),
  }
}

/** Starts the pipeline in this process with the service's own settings, `overrides` first; builds models and index where missing. */
export async function createInProcessClient(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<AnswerClient> {
  const config = loadConfig(overrides)
  await ensureArtefacts(config, createProgress)
  return servicesClient(await createServices(config), config.DEADLINE_MS)
}
