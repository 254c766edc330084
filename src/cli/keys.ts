import { given, counted } from '../../base/at.ts'
import { Command } from 'commander'
import type { Config } from '../settings.ts'
import type { KeyRecord } from '../keys/record.ts'
import { loadConfig } from './program/run-program.ts'
import { wholeNumber } from './program/options.ts'
import { print, say } from './program/shown.ts'

interface AddOptions {
  readonly admin?: boolean
  readonly requestsPerMinute?: number
  readonly questionsPerDay?: number
  readonly collections?: string
}

/** `cepe keys`: creates, lists and revokes keys. */
export function keysCommand(): Command {
  return new Command('keys')
    .description('create, list and revoke API keys; a running service applies changes within a second')
    .addCommand(
      new Command('add')
        .description('create a key and print it once; only its hash is stored')
        .argument('<name>', 'name of the key: letters, digits, dots, dashes, underscores')
        .option('--admin', 'allow changes to the index')
        .option('--requests-per-minute <number>', 'requests of any kind', wholeNumber({ min: 1, max: 1_000_000_000 }))
        .option('--questions-per-day <number>', 'questions on a day (UTC)', wholeNumber({ min: 1, max: 1_000_000_000 }))
        .option('--collections <names>', 'the only collections that it may use, separated by commas')
        .action(add),
    )
    .addCommand(
      new Command('list').description('list the keys and the questions asked with each today').action(async () => {
        const { KEYS_DIR: dir } = await loadConfig()
        const [{ usageOfDay }, { readChanges }] = await Promise.all([import('../keys/quota.ts'), import('../keys/store.ts')])
        const usage = await usageOfDay(dir, undefined, warn)
        const files = [...(await readChanges(dir)).values()]
        const lines = files.flatMap(({ record }) => (record === undefined ? [] : [line(record, usage.get(record.name) ?? 0)]))
        if (lines.length > 0) await print(`${lines.join('\n')}\n`)
        else if (files.length === 0) await print(`no keys in ${dir}\n`)
        for (const { problem } of files) {
          if (problem === undefined) continue
          warn(problem)
          process.exitCode = 1
        }
      }),
    )
    .addCommand(
      new Command('revoke')
        .description('revoke a key')
        .argument('<name>')
        .action(async (name: string) => {
          const { revokeKey } = await import('../keys/store.ts')
          await revokeKey((await loadConfig()).KEYS_DIR, name)
          await print(`${name} is revoked\n`)
        }),
    )
}

async function add(name: string, { admin, requestsPerMinute, questionsPerDay, collections }: AddOptions): Promise<void> {
  const { addKey, readChanges, removeKey } = await import('../keys/store.ts')
  const { needsKey } = await import('../keys/keys.ts')
  const config = await loadConfig()
  const before = [...(await readChanges(config.KEYS_DIR)).values()].flatMap(({ record }) => record ?? [])
  const names = collections?.split(',').map((one) => one.trim())
  const key = await addKey(config.KEYS_DIR, {
    name,
    role: admin === true ? 'admin' : 'user',
    ...given({ requests_per_minute: requestsPerMinute, questions_per_day: questionsPerDay, collections: names }),
  })
  for (const one of await missing(names ?? [], config))
    warn(`there is no collection ${one} yet: the key works once it is made (cepe index add --collection ${one})`)
  if (admin !== true && !needsKey(before))
    warn('this is the first user key: a service with these keys was open, and answers requests with a key only from now on')
  if (!(await print(`${key}\n`))) return
  // The key was not seen, and a retry takes its name.
  await removeKey(config.KEYS_DIR, name)
  process.exitCode = 1
}

/** Those of the collections that are not in the index; none if it cannot be read. */
async function missing(names: readonly string[], { INDEX_DIR: dir, TABLE }: Config): Promise<string[]> {
  if (names.length === 0) return []
  const { storeOf } = await import('../../index/store/store-of.ts')
  const files = await storeOf(dir)
    .files.list(dir)
    .catch(() => undefined)
  return files === undefined ? [] : names.filter((name) => name !== TABLE && !files.includes(`${name}.alias.json`))
}

function warn(message: string): void {
  say(`cepe: ${message}`)
}

function line(record: KeyRecord, questions: number): string {
  const { name, role, created_at: created, revoked_at: revoked, collections } = record
  const { requests_per_minute: perMinute, questions_per_day: perDay } = record
  return [
    `${name}  ${role}`,
    `made ${created.slice(0, 10)}`,
    perDay === undefined ? `${counted(questions, 'question')} today` : `${questions} of ${counted(perDay, 'question')} today`,
    ...(perMinute === undefined ? [] : [`${counted(perMinute, 'request')} a minute`]),
    ...(collections === undefined ? [] : [`collections ${collections.join(' ')}`]),
    ...(revoked === undefined ? [] : [`revoked ${revoked.slice(0, 10)}`]),
  ].join(', ')
}
