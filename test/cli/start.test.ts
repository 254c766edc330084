import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { CLI, finished } from '../helpers/processes.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'

/** Packages that take long to load, or that many files are of. */
const HEAVY = [
  'onnxruntime-node',
  '@lancedb/lancedb',
  'apache-arrow',
  'fastify',
  '@aws-sdk/client-s3',
  'protobufjs',
  '@huggingface/hub',
  'typebox',
]
/** 1,526 before modules were loaded when they are needed. */
const MOST_MODULES = 120
/** Processor seconds of help. */
const MOST_SECONDS = 0.8
/** Prints the processor time of a process, and of each that it starts, in microseconds. */
const PRINT_TIME = `--import=data:text/javascript,process.on('exit',()=>{const{user,system}=process.cpuUsage();console.error('cpu:'+(user+system))})`

const noProc = existsSync('/proc/self') ? false : 'there is no /proc'

/** The files that a command loads, of this package and of others, as V8's coverage lists them. */
async function modulesOf(t: Test, args: readonly string[]): Promise<string[]> {
  const dir = t.testdir()
  const { code, stderr } = await runCli(args, { NODE_V8_COVERAGE: dir })
  t.equal(code, 0, stderr)
  const files = await readdir(dir)
  const lists = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(path.join(dir, file), 'utf8')) as { readonly result: { readonly url: string }[] }),
  )
  return lists.flatMap(({ result }) => result.map(({ url }) => url)).filter((url) => url.startsWith('file:'))
}

await t.test('help loads little: no model, no table, no service', async (t) => {
  const all = [['--help'], ['--version'], ...Object.keys(COMMANDS).map((name) => [name, '--help']), ['index', 'add', '--help']]
  for (const args of all)
    await t.test(args.join(' '), async (t) => {
      const modules = await modulesOf(t, args)
      t.ok(modules.length > 10 && modules.length < MOST_MODULES, `${modules.length} modules`)
      for (const name of HEAVY)
        t.notOk(
          modules.find((url) => url.includes(`/node_modules/${name}/`)),
          name,
        )
    })
})

await t.test('help of the programs beside it loads the schemas of evaluation at most', async (t) => {
  for (const args of [['eval'], ['eval', 'lm'], ['eval', 'all'], ['eval', 'rope'], ['calibrate']]) {
    const name = args.join(' ')
    const modules = (await modulesOf(t, [...args, '--help'])).filter((url) => !url.includes('/node_modules/typebox/'))
    t.ok(modules.length > 10 && modules.length < MOST_MODULES, `${name}: ${modules.length} modules`)
    t.same(
      HEAVY.filter((one) => modules.some((url) => url.includes(`/node_modules/${one}/`))),
      [],
      name,
    )
  }
})

await t.test('help takes little processor time', async (t) => {
  for (const args of [['--help'], ['eval', '--help']]) {
    const { code, stderr } = await runCli(args, { NODE_OPTIONS: PRINT_TIME })
    const times = [...stderr.matchAll(/^cpu:(\d+)$/gm)].map(([, time]) => Number(time) / 1e6)
    t.equal(code, 0, stderr)
    t.equal(times.length, 1, 'one process')
    const seconds = times.reduce((sum, time) => sum + time, 0)
    t.ok(seconds < MOST_SECONDS, `${args.join(' ')}: ${seconds} s`)
  }
})

await t.test('an index folder that cannot be made ends every command with one line', { skip: noProc }, async (t) => {
  const commands = [
    ['serve', '--port', '0'],
    ['index', 'status'],
    ['index', 'add', 'index/corpus/demonstrations.jsonl'],
    ['ask', 'who'],
    ['migrate'],
  ]
  for (const args of commands) {
    const { code, stderr } = await runCli(args, { ...tinyService(t.testdir()), CEPE_INDEX_DIR: '/proc/none/index' })
    t.match({ code, stderr }, { code: 1, stderr: /cepe: [^\n]*\/proc\/none\/index[^\n]*\n$/ }, args.join(' '))
    t.notMatch(stderr, /\n {4}at /, 'no stack')
  }
})

await t.test('too few open files: one line that says how many it takes', { skip: noProc }, async (t) => {
  for (const args of ['serve --port 0', 'index status', 'eval --help', 'build x --out y']) {
    const command = `ulimit -n 64 && exec "$0" "$1" ${args}`
    const child = spawn('/bin/sh', ['-c', command, process.execPath, CLI], { env: tinyService(t.testdir()) })
    t.match(
      await finished(child),
      { code: 1, stderr: /^cepe: This process may have 64 files open; at least 256 are needed[^\n]*ulimit -n[^\n]*\n$/ },
      args,
    )
  }
})

await t.test('too little memory: one line that says which limit', { skip: noProc }, async (t) => {
  const command = 'ulimit -v 6000000 && exec "$0" "$1" serve --port 0'
  const child = spawn('/bin/sh', ['-c', command, process.execPath, CLI], { env: tinyService(t.testdir()) })
  // It may be at an end before the models are built, or after.
  const line = /^(?:Building [^\n]*\n)*cepe: The process has no memory left: raise its limit \(ulimit -v;[^\n]*\n$/
  t.match(await finished(child), { code: 1, stderr: line })
})
