import { configureStores, storeSettingsOf } from '../../../index/store/object-store/settings.ts'
import { storeOf, within } from '../../../index/store/store-of.ts'

/** Works on a store until it is killed: holds a lock and a mark, appends to a list, and writes a value again and again. */
const [dir = ''] = process.argv.slice(2)
if (process.env['AWS_ENDPOINT_URL'] !== undefined) configureStores(storeSettingsOf(process.env))
const { files, locks, logs, marks, values } = storeOf(dir)
await locks.take(within(dir, 'held'), { waitMs: 0 })
await marks.put(within(dir, 'marks'), 'reading')
const fill = 'x'.repeat(20_000)
process.stdout.write('begun\n')
for (let number = 0; ; number++) {
  await logs.append(within(dir, 'changes'), 'job', JSON.stringify({ number, fill }))
  await values.write(within(dir, 'value.json'), { number, fill })
  await files.write(within(dir, 'file.json'), JSON.stringify({ number, fill }))
  if (number === 3) process.stdout.write('written\n')
}
