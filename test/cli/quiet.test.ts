import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t from 'tap'
import { randomRetriever } from '../fixtures/random-retriever.ts'
import { runCli } from '../helpers/cli.ts'
import { finished } from '../helpers/processes.ts'
import { builtService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('a command at an object store passes on no warning of the client for such stores', async (t) => {
  const dir = await tempDir(t)
  let clients: string[] = []
  const store = createServer((req, res) => {
    clients = [...clients, req.headers['user-agent'] ?? '']
    const isList = req.url?.includes('list-type') === true
    res.writeHead(isList ? 200 : 404, { 'content-type': 'application/xml' })
    res.end(isList ? '<ListBucketResult><Name>bucket</Name></ListBucketResult>' : '<Error><Code>NoSuchKey</Code></Error>')
  })
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    store.closeAllConnections()
    store.close()
  })
  const retriever = await randomRetriever(dir, { seed: 3 })
  const env = builtService(dir, { reader: path.join(dir, 'none'), retriever }, { CEPE_INDEX_DIR: 's3://bucket/index', CEPE_JOBS_DIR: dir })
  const access = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a-key-of-this-test', AWS_SECRET_ACCESS_KEY: 'a-secret-of-this-test' }
  const endpoint = `http://127.0.0.1:${(store.address() as AddressInfo).port}`
  const { stderr } = await runCli(['index', 'status'], { ...env, ...access, AWS_ENDPOINT_URL: endpoint, AWS_ALLOW_HTTP: 'true' })
  t.ok(
    clients.some((client) => client.includes('aws-sdk-js')),
    'the client was at work',
  )
  t.match(stderr, /^cepe: The store of s3:\/\/bucket\/index does not support conditional writes .*\n$/, 'one line, of the command itself')
})

await t.test('a failure of the system is said with its remedy, and without a stack', async (t) => {
  const file = (name: string): string => JSON.stringify(new URL(`../../src/cli/program/${name}`, import.meta.url).href)
  const ended = (code: string, text: string) =>
    finished(
      spawn(process.execPath, [
        '--input-type=module',
        '-e',
        `import { Command } from 'commander'
         const { runProgram } = await import(${file('run-program.js')})
         const error = Object.assign(new Error('${code}: ${text}'), { code: '${code}' })
         await runProgram(new Command('cepe').action(() => Promise.reject(error)))`,
      ]),
    )
  t.match(await ended('ENOSPC', 'no space left on device, write'), {
    code: 1,
    stderr: 'cepe: The disk is full: free space and try again. (ENOSPC: no space left on device, write)\n',
  })
  t.match(await ended('EACCES', 'permission denied, open weights.bin'), {
    code: 1,
    stderr:
      /^cepe: A file or folder cannot be read or written to: check its permissions.*\(EACCES: permission denied, open weights\.bin\)\n$/,
  })
})
