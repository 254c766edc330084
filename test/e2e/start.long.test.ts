import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { processesWith, runCli } from '../helpers/cli.ts'
import { SKIPS } from '../helpers/skips.ts'

/** An idle machine needs three seconds, a busy one many more; what hangs needs for ever. */
const LIMIT_MS = 120_000

/** A copy of a built model in which one file is changed, and, where `listed`, the manifest says that this is right. */
async function changedModel(from: string, to: string, change: { file: RegExp; listed: boolean; apply: (path: string) => Promise<void> }) {
  await cp(from, to, { recursive: true })
  const { sha256: _, ...manifest } = JSON.parse(await readFile(path.join(to, 'manifest.json'), 'utf8')) as {
    files: { name: string; bytes: number; sha256: string }[]
    sha256: string
  }
  for (const file of manifest.files.filter((entry) => change.file.test(entry.name))) {
    await change.apply(path.join(to, file.name))
    if (!change.listed) continue
    const bytes = await readFile(path.join(to, file.name))
    Object.assign(file, { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
  }
  await writeFile(path.join(to, 'manifest.json'), JSON.stringify(manifest))
  return to
}
const flip = async (file: string): Promise<void> => {
  const bytes = await readFile(file)
  bytes.fill(0xff, bytes.length / 2, bytes.length / 2 + 64)
  await writeFile(file, bytes)
}
const halve = async (file: string): Promise<void> => truncate(file, Math.floor((await readFile(file)).length / 2))

interface Case {
  readonly what: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly says: RegExp
  /** What is not there afterwards. */
  readonly absent?: string
  /** Reason for leaving it out here. */
  readonly skip?: string | false
}

/** Every way that we know to fail a start. */
async function failingStarts(t: Test): Promise<readonly Case[]> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-start-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const at = (...names: string[]) => path.join(dir, ...names)

  await writeFile(at('corpus.tsv'), 'id\ttext\ttitle\n1\tCanberra is the capital of Australia.\tCanberra\n')
  await writeFile(at('file'), 'not a folder')
  const checkpoints = {
    CEPE_READER_CHECKPOINT: 'models/tiny/checkpoint/cepe',
    CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
  }
  const own = { CEPE_INDEX_DIR: at('index'), CEPE_CORPUS: at('corpus.tsv'), CEPE_THREADS: '1' }
  const whole = { ...own, ...checkpoints, CEPE_READER_DIR: at('reader'), CEPE_RETRIEVER_DIR: at('retriever') }
  const first = await runCli(['ask', 'what is the capital of australia'], whole)
  t.equal(first.code, 0, first.stderr)

  const damaged = await changedModel(at('reader'), at('damaged'), { file: /weights\.bin$/, listed: false, apply: flip })
  const unreadable = await changedModel(at('reader'), at('unreadable'), { file: /onnx$/, listed: true, apply: halve })
  const speechless = await changedModel(at('reader'), at('speechless'), { file: /tokenizer\.json$/, listed: true, apply: halve })
  const builtOnly = (folder: string) => ({ ...own, CEPE_READER_DIR: folder, CEPE_RETRIEVER_DIR: at('retriever') })

  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const takenPort = String((taken.address() as AddressInfo).port)

  const serve = ['serve', '--port', '0']
  const ask = ['ask', 'what is it']
  return [
    { what: 'a port in use', args: ['serve', '--port', takenPort], env: whole, says: /Port \d+ of 127\.0\.0\.1 is in use/ },
    {
      what: 'an address that others reach, without keys',
      args: [...serve, '--host', '0.0.0.0'],
      env: { ...whole, CEPE_KEYS_DIR: at('keys') },
      says: /cepe keys add.*CEPE_ALLOW_OPEN/,
    },
    {
      what: 'an address of another machine',
      args: [...serve, '--host', '192.0.2.1'],
      env: { ...whole, CEPE_ALLOW_OPEN: 'true' },
      says: /cannot listen at 192\.0\.2\.1.*CEPE_HOST/,
    },
    {
      what: 'a port of the system',
      args: ['serve', '--port', '1'],
      env: whole,
      says: /Port 1 of 127\.0\.0\.1 may not be opened/,
      skip: process.getuid?.() === 0 && SKIPS.ports,
    },
    ...[serve, ask, ['index', 'status']].map((args): Case => ({
      what: 'an index folder that is a file',
      args,
      env: { ...whole, CEPE_INDEX_DIR: at('file') },
      says: /cannot be made.*CEPE_INDEX_DIR/,
    })),
    ...[serve, ask].map((args): Case => ({
      what: 'a file of feedback that is a folder',
      args,
      env: { ...whole, CEPE_FEEDBACK: dir },
      says: /cannot be written to.*CEPE_FEEDBACK/,
    })),
    {
      what: 'a file of feedback that is a device',
      args: serve,
      env: { ...whole, CEPE_FEEDBACK: '/dev/null' },
      says: /cannot be written to \(\/dev\/null is a pipe or a device: name a regular file\): set CEPE_FEEDBACK/,
    },
    {
      what: 'a jobs folder that is a file',
      args: serve,
      env: { ...whole, CEPE_JOBS_DIR: at('file') },
      says: /cannot be made.*CEPE_JOBS_DIR/,
    },
    ...Object.entries({
      CEPE_STATE_DIR: { CEPE_STATE_DISK_MB: '10' },
      CEPE_MIRROR_DIR: { CEPE_ROLE: 'replica' },
      CEPE_KEYS_DIR: {},
    }).map(([setting, more]): Case => ({
      what: `${setting} that is a file`,
      args: serve,
      env: { ...whole, ...more, [setting]: at('file') },
      says: new RegExp(`${at('file')}.* cannot be (?:made|read)`),
    })),
    ...[serve, ask, ['index', 'status']].map((args): Case => ({
      what: 'no folder for temporary files',
      args,
      env: { ...whole, TMPDIR: at('nothing') },
      says: /nothing.*TMPDIR/,
    })),
    // Root may write everywhere except where nobody can.
    { what: 'a folder that nobody can make', args: serve, env: { ...whole, CEPE_INDEX_DIR: '/sys/cepe/index' }, says: /cannot be made/ },
    { what: 'damaged weights', args: serve, env: builtOnly(damaged), says: /is damaged/ },
    { what: 'a graph that cannot be loaded', args: serve, env: builtOnly(unreadable), says: /onnx/i },
    ...[serve, ask].map((args): Case => ({ what: 'a tokenizer that cannot be read', args, env: builtOnly(speechless), says: /tokenizer/ })),
    {
      what: 'a retriever that is a reader',
      args: serve,
      env: { ...builtOnly(at('reader')), CEPE_RETRIEVER_DIR: at('reader') },
      says: /reader has a reader: choose a folder with a retriever$/,
    },
    { what: 'neither model nor checkpoint', args: serve, env: builtOnly(at('nothing')), says: /no built model.*CEPE_READER_CHECKPOINT/ },
    { what: 'a model folder that is a file', args: serve, env: { ...whole, CEPE_READER_DIR: at('file') }, says: /CEPE_READER_DIR/ },
    {
      what: 'a missing corpus',
      args: serve,
      env: { ...whole, CEPE_INDEX_DIR: at('other'), CEPE_CORPUS: at('none.tsv') },
      says: /none\.tsv/,
    },
    // Building it would take long, and is not begun.
    ...Object.entries({ CEPE_CORPUS: at('none.tsv'), CEPE_DEMONSTRATIONS: at('none.jsonl'), CEPE_CALIBRATION: at('none.json') }).map(
      ([setting, file]): Case => ({
        what: `${setting} missing, before a model is built`,
        args: serve,
        env: { ...whole, CEPE_INDEX_DIR: at('other'), CEPE_READER_DIR: at('unbuilt'), [setting]: file },
        says: new RegExp(`${path.basename(file)}`),
        absent: at('unbuilt'),
      }),
    ),
    { what: 'missing demonstrations', args: ask, env: { ...whole, CEPE_DEMONSTRATIONS: at('none.jsonl') }, says: /none\.jsonl/ },
    {
      what: 'a port that is no whole number',
      args: ['serve'],
      env: { ...whole, CEPE_PORT: '80.5' },
      says: /CEPE_PORT must be a whole number/,
    },
    { what: 'an unknown setting', args: ['index', 'status'], env: { ...whole, CEPE_PROT: '1' }, says: /Unknown setting CEPE_PROT/ },
  ]
}

t.test('a start that fails says why in one line, with exit code 1 and no process left', { timeout: 1_200_000 }, async (t) => {
  for (const { what, args, env, says, absent, skip = false } of await failingStarts(t)) {
    await t.test(`${args.slice(0, 2).join(' ')}: ${what}`, { skip }, async (t) => {
      const marker = `CEPE-START-${process.pid}-${Math.random()}`
      const { code, stderr } = await runCli(args, { ...env, MARKER: marker }, AbortSignal.timeout(LIMIT_MS))
      t.equal(code, 1, 'exit code')
      const lines = stderr.trimEnd().split('\n')
      t.match(lines.at(-1), says)
      t.match(lines.at(-1), /^cepe: /)
      t.equal(lines.filter((line) => /^cepe: |^\s+at /.test(line)).length, 1, stderr)
      t.same(await processesWith(marker), [], 'no process is left')
      if (absent !== undefined) t.notOk(existsSync(absent), absent)
    })
  }
})
