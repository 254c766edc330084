/**
 * Commits a shard directory with all its vectors to the table `bench` of an index, resuming where a killed process stopped.
 * Arguments: shard directory, folder or address of the index, folder of the job. Prints "started", and the seconds of writing and of the rest.
 */
import { openShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { storeSettingsOf } from '../../../index/store/object-store/environment.ts'
import { configureStores } from '../../../index/store/object-store/settings.ts'
import { commitReady } from './ready-shards.ts'

const [shardDir = '', dir = '', folder = ''] = process.argv.slice(2)
configureStores(storeSettingsOf(process.env))
process.stdout.write('started\n')
const { started, written, done } = await commitReady(await openShardDir(shardDir), dir, folder)
process.stdout.write(`wrote in ${((written - started) / 1000).toFixed(1)} s, the rest in ${((done - written) / 1000).toFixed(1)} s\n`)
