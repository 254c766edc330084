import type { ReadinessCheck } from './http/routes/health.ts'
import type { ProcessStatus } from './http/routes/metrics.ts'
import type { AnswerServices } from './rag/answer.ts'
import type { Config } from './config.ts'

export interface Services {
  readonly answering: AnswerServices
  readonly admin: null
  readonly readiness: () => Promise<readonly ReadinessCheck[]>
  readonly processes: () => readonly ProcessStatus[]
  close(): Promise<void>
}
export declare function createServices(config: Config): Promise<Services>
