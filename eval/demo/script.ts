import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { CodedError, messageOf } from '../../base/errors.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { packageRoot } from '../../src/package.ts'
import type { AnswerClient } from '../client/client.ts'
import type { Block } from '../report/blocks.ts'
import { writeReport } from '../report/report.ts'
import { costGate } from '../runner/cost.ts'
import { wholeNumber } from '../task/options.ts'
import { evaluate } from '../tasks/open-domain-qa/ask.ts'
import { prepare, type EvaluationOptions } from '../tasks/open-domain-qa/prepare.ts'
import { readRun, type StoredRun } from '../tasks/open-domain-qa/record.ts'
import { buildReport } from '../tasks/open-domain-qa/report.ts'
import { readPublished } from '../tasks/open-domain-qa/tables.ts'

/** The options of a script, read. */
export interface ScriptOptions {
  /** The folder given as argument; empty if the script takes none. */
  readonly folder: string
  /** The folder of the report. */
  readonly out: string
  /** Questions to ask; undefined: all. */
  readonly limit: number | undefined
  /** Another option; undefined if absent. */
  readonly given: (option: string) => string | undefined
}

/**
 * Runs a command that is no part of `cepe`: reads its options, and reports a failure under its name, which sets the exit code.
 * @param name such as `eval:demo`
 * @param options the first is that of the report's folder
 * @param folder what the folder argument has; absent: the script takes none
 */
export async function runScript(
  name: string,
  { options, folder: wanted }: { readonly options: readonly [out: string, ...string[]]; readonly folder?: string },
  main: (options: ScriptOptions) => Promise<void>,
): Promise<void> {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: wanted !== undefined,
      options: Object.fromEntries(options.map((option) => [option, { type: 'string' as const }])),
    })
    const [folder = ''] = positionals
    if (wanted !== undefined && folder === '') throw new CodedError('options_invalid', `Name the folder ${wanted}.`)
    const given = (option: string) => (values[option] === undefined ? undefined : String(values[option]))
    const [out, questions] = [given(options[0]), given('questions')]
    await main({
      folder,
      out: out ?? path.join(packageRoot(), 'eval', 'runs', name.slice('eval:'.length)),
      limit: questions === undefined ? undefined : wholeNumber('--questions', questions, 1),
      given,
    })
  } catch (thrown) {
    const bug = thrown instanceof Error && !(thrown instanceof CodedError)
    process.stderr.write(`${name}: ${bug ? (thrown.stack ?? thrown.message) : messageOf(thrown)}\n`)
    process.exitCode = 1
  }
}

/** Writes the report of a script's runs, and `lines` to standard output. */
export async function finishScript(
  { out }: ScriptOptions,
  runs: readonly StoredRun[],
  { title, lead, lines }: { readonly title: string; readonly lead: readonly Block[]; readonly lines: readonly string[] },
): Promise<void> {
  await writeReport(buildReport(runs, await readPublished(), { title, lead }), out)
  process.stdout.write(`${lines.join('\n')}\nReport: ${path.join(out, 'report.md')} and report.html\n`)
}

/** Asks the questions of one run, with a progress line, and reads the run back. @throws as `prepare` and `evaluate` */
export async function measure(
  client: AnswerClient,
  options: EvaluationOptions,
  { folder, concurrency }: { readonly folder: string; readonly concurrency: number },
): Promise<StoredRun> {
  const prepared = await prepare(options, client)
  const progress = createProgress(`Evaluating ${options.dataset}`, 'answers')
  const onProgress = (done: number, total: number, detail: string) => progress.update(done, total, detail)
  await evaluate({ client, folder, concurrency, onProgress, onCost: costGate({ yes: true }), ...prepared }).finally(() => progress.stop())
  return readRun(folder)
}

const POLL_MS = 250
/** Longest time from listening to readiness. */
const UNREADY_MS = 60_000

/** The complete environment of a started program, so that user settings have no effect. */
type Environment = Readonly<Record<`CEPE_${string}`, string>>

/** Starts the command line as users do, in a folder without an .env file; its progress is shown on standard error. */
function startCli(args: readonly string[], env: Environment, cwd: string): ChildProcess {
  const cli = path.join(packageRoot(), 'dist', 'src', 'cli.js')
  return spawn(process.execPath, [cli, ...args], { cwd, env: { ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
}

/**
 * Measures through the HTTP API of a service started for it, with a new index in eval/runs/<name>: present models and parsers are under
 * test, not those of an earlier run.
 * @param settings of the service, beside those of the index
 * @param documents a folder that is indexed by the command line first
 * @throws service_unreachable where the folder is not indexed or the service does not become ready; the message stands on standard error
 */
export async function withService<T>(
  name: string,
  { settings, documents }: { readonly settings: Environment; readonly documents?: string },
  use: (url: string, work: string) => Promise<T>,
): Promise<T> {
  const work = path.join(packageRoot(), 'eval', 'runs', name)
  await rm(work, { recursive: true, force: true })
  const index = path.join(work, 'index')
  await mkdir(index, { recursive: true })
  const env = { CEPE_INDEX_DIR: index, CEPE_JOBS_DIR: path.join(index, 'jobs'), CEPE_LOG_LEVEL: 'warn', ...settings }
  if (documents !== undefined) {
    const [code] = (await once(startCli(['index', 'add', path.resolve(documents)], env, index), 'exit')) as [number | null]
    if (code !== 0) throw new CodedError('service_unreachable', `${documents} was not indexed; the command's message stands above.`)
  }
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = startCli(['serve', '--host', '127.0.0.1', '--port', String(port)], env, index)
  const exited = once(child, 'exit')
  // A terminated evaluation leaves no service behind.
  const terminate = (): void => {
    child.kill('SIGTERM')
    process.kill(process.pid, 'SIGTERM')
  }
  process.once('SIGTERM', terminate)
  try {
    await untilReady(url, child)
    return await use(url, work)
  } finally {
    process.removeListener('SIGTERM', terminate)
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await exited
    }
  }
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let listeningSince: number | undefined; ; await sleep(POLL_MS)) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined)
    if (response?.ok === true) return
    if (child.exitCode !== null || child.signalCode !== null)
      throw new CodedError('service_unreachable', 'The service did not start; see its message above.')
    if (response !== undefined) listeningSince ??= Date.now()
    if (listeningSince !== undefined && Date.now() - listeningSince > UNREADY_MS)
      throw new CodedError('service_unreachable', `The service started, but does not become ready: ${(await response?.text()) ?? 'silent'}`)
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port. This is a bug.')
  return address.port
}
