import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { closing } from '../../base/files.ts'
import { makeFolder } from '../../base/durable.ts'
import { buildApp } from '../../src/app.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { loadConfig } from '../../src/config.ts'
import { packageRoot, packageVersion } from '../../src/package.ts'
import { LIMITS } from '../../src/rag/schema.ts'
import { openService, type Services } from '../../src/service/services.ts'
import { ensureArtefacts } from '../../src/service/setup.ts'
import type { AnswerClient, ServiceDefaults } from '../client/client.ts'
import { createHttpClient } from '../client/http.ts'
import { servicesClient } from '../client/in-process.ts'
import { type Block, toMarkdown } from '../report/blocks.ts'
import { writeReport } from '../report/report.ts'
import { invalidOption, wholeNumbers } from '../run/options.ts'
import { followed } from '../run/follow.ts'
import { runsFolder } from '../run/folder.ts'
import { askQuestions } from '../tasks/open-domain-qa/ask.ts'
import type { EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { readRun, type StoredRun } from '../tasks/open-domain-qa/record.ts'
import { buildReport } from '../tasks/open-domain-qa/report.ts'
import { publishedScores } from '../tasks/open-domain-qa/tables.ts'
import { invalidDataset } from '../datasets/records.ts'

/** Questions that are asked in several settings, and the tables of their report. */
export interface Suite {
  readonly name: string
  readonly title: string
  /** Contents of the folder argument; absent: the suite takes none. */
  readonly folder?: string
  /**
   * True: the service is measured over HTTP, whatever the user's settings are, with a new index in eval/runs/<name>. False: the pipeline
   * runs in this process with the user's settings, and runs in the output folder are resumed.
   */
  readonly isShipped: boolean
  /** The table of passages to index; absent: the folder's documents are indexed. */
  readonly corpus?: (folder: string) => string
  /** Refuses a folder that cannot be asked about. @throws dataset_invalid */
  readonly check?: (folder: string) => Promise<unknown>
  /** Questions asked at a time. */
  readonly concurrency: number
  /** Passages per question without --k, ascending. */
  readonly ks: (defaults: ServiceDefaults) => readonly number[]
  /** Asks the runs. @returns them with what the report begins with */
  readonly measure: (context: SuiteContext) => Promise<{ readonly runs: readonly StoredRun[]; readonly lead: readonly Block[] }>
}

export interface SuiteOptions {
  readonly questions?: number
  readonly k?: string
  readonly reader?: string
  readonly calibration?: string
  readonly out?: string
}

/** The started pipeline, and what it is asked with. */
interface SuiteContext extends Pick<ServiceDefaults, 'mode'> {
  /** The folder argument; empty without. */
  readonly folder: string
  /** Folder of index and runs. */
  readonly work: string
  /** Most questions of a run; undefined: the suite's own number. */
  readonly limit: number | undefined
  readonly ks: readonly number[]
  readonly services: Services
  readonly client: AnswerClient
  /** Asks the questions of one run, stored in the folder `name`. @throws as `askQuestions` */
  readonly ask: (name: string, options: EvaluationOptions, client?: AnswerClient) => Promise<StoredRun>
}

/** `cepe eval suite`: measures, prints the first tables and writes the report. @throws options_invalid, dataset_invalid */
export async function runSuite(suite: Suite, given: string | undefined, options: SuiteOptions): Promise<void> {
  const { name, title, isShipped } = suite
  if ((given === undefined) !== (suite.folder === undefined))
    throw invalidOption(suite.folder === undefined ? `${name} takes no folder.` : `Name the folder ${suite.folder}.`)
  const folder = given ?? ''
  const ks = options.k === undefined ? undefined : wholeNumbers('--k', options.k, 1, LIMITS.k)
  await suite.check?.(folder)
  const runs = runsFolder(name)
  const out = options.out ?? runs
  const work = isShipped ? runs : out
  // Present models and parsers are under test, not those of an earlier run.
  if (isShipped) await rm(runs, { recursive: true, force: true })
  await using pipeline = closing(await started(suite, folder, work, options))
  const { services, connect } = pipeline
  const client = await connect()
  const defaults = await client.defaults()
  const { lead, runs: measured } = await suite.measure({
    folder,
    work,
    limit: options.questions,
    services,
    client,
    mode: defaults.mode,
    ks: ks ?? suite.ks(defaults),
    ask: async (name, options, asked = client) => {
      const run = { client: asked, options, folder: path.join(work, name), concurrency: suite.concurrency }
      await followed(`Evaluating ${options.dataset}`, { yes: true }, (watched) => askQuestions({ ...run, ...watched }))
      return readRun(run.folder)
    },
  })
  const report = buildReport(measured, publishedScores(), { title, lead })
  const perRun = report.blocks.findIndex((block) => block.kind === 'heading' && block.text.startsWith('Run: '))
  process.stdout.write(toMarkdown(report.blocks.slice(0, perRun)))
  await writeReport(report, out)
}

/** Indexes the data and starts the pipeline. */
async function started({ corpus, isShipped }: Suite, folder: string, work: string, { reader, calibration }: SuiteOptions) {
  const index = path.join(work, 'index')
  await makeFolder(index)
  const settings = {
    INDEX_DIR: index,
    JOBS_DIR: path.join(index, 'jobs'),
    CORPUS: corpus?.(folder) ?? '',
    ...(reader !== undefined && { READER_DIR: path.resolve(reader), READER_CHECKPOINT: '' }),
    ...(calibration !== undefined && { CALIBRATION: path.resolve(calibration) }),
    ...(isShipped && { HOST: '127.0.0.1', LOG_LEVEL: 'silent' }),
  }
  if (corpus === undefined) await addDocuments(folder, settings)
  const config = isShipped ? loadConfig(settings, {}) : loadConfig(settings)
  await ensureArtefacts(config, createProgress)
  const services = await openService(config)
  const app = isShipped ? await buildApp(services, config, packageVersion()) : undefined
  const close = async () => {
    await app?.close()
    await services.close()
  }
  const connect = async () =>
    app === undefined ? servicesClient(services) : createHttpClient(await app.listen({ host: config.HOST, port: 0 }))
  return { services, connect, close }
}

/** Indexes the documents of a folder by the command line, which shows its progress. @throws dataset_invalid */
async function addDocuments(folder: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const command = [path.join(packageRoot(), 'dist', 'src', 'cli.js'), 'index', 'add', path.resolve(folder)]
  const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`CEPE_${name}`, value]))
  const child = spawn(process.execPath, command, { cwd: settings['INDEX_DIR'], env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw invalidDataset(`${folder} was not indexed; the command's message stands above.`)
}
