import { weightsOf } from '../../models/manifest.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { loadConfig } from '../../src/config.ts'
import type { Config } from '../../src/settings.ts'
import { CodedError } from '../../base/errors.ts'
import type { Admission } from '../../src/inference/contract.ts'
import { answerQuestion } from '../../src/rag/answer.ts'
import type { AnswerServices } from '../../src/rag/pipeline.ts'
import { readerDefaults } from '../../src/rag/resolve-request.ts'
import { search } from '../../src/rag/search.ts'
import { answerDefaults } from '../../src/service/models.ts'
import { openService, type Services } from '../../src/service/services.ts'
import { ensureArtefacts } from '../../src/service/setup.ts'
import type { AnswerClient } from './client.ts'
import { createReaderClient } from './reader.ts'

/** Admits everything: concurrency is an option of the evaluation, without deadlines. */
const OPEN: Admission = { enter: () => ({ release: () => undefined }) }

/** The pipeline of constructed services, without HTTP, deadline and admission control. */
export function servicesClient(started: Pick<Services, 'answering' | 'close'>): AnswerClient {
  const services: AnswerServices = { ...started.answering, admission: OPEN }
  const { calibration } = services
  const { manifest } = services.reader
  const defaults = {
    ...readerDefaults(manifest, services.demonstrations, services.chatTemplate),
    weights: weightsOf(manifest),
    ...(calibration && { calibration: calibration.fitted_at }),
  }
  return {
    name: 'in process',
    hasEncoder: manifest.graphs.encoder !== null,
    defaults: () => Promise.resolve(defaults),
    answer: (request) => answerQuestion(request, services),
    search: (request) => search(request, services, { admitted: true }),
    close: () => started.close(),
  }
}

/** The pipeline without retriever and index, for questions with passages. */
export async function createReadingClient(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<AnswerClient> {
  const config = loadConfig(overrides)
  const client = await createReaderClient(overrides)
  const none = (): never => {
    throw new CodedError('options_invalid', 'Passages are supplied with the questions: there is no retriever to search with.')
  }
  const answering: AnswerServices = {
    reader: client.reader,
    admission: OPEN,
    retriever: {
      get embedder() {
        return none()
      },
      get index() {
        return none()
      },
    },
    ...(await answerDefaults(config)),
  }
  return { ...servicesClient({ answering, close: () => client.close() }), search: none }
}

/** Starts the services in this process with the service's settings and `overrides`; builds models and index if missing. */
export async function startServices(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<Services> {
  const config = loadConfig(overrides)
  await ensureArtefacts(config, createProgress)
  return openService(config)
}

export async function createInProcessClient(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<AnswerClient> {
  return servicesClient(await startServices(overrides))
}
