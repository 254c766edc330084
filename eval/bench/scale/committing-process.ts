/**
 * A process that takes a place of ready vectors into the table `bench` of an index, from where another one that was killed stopped.
 * Arguments: place, folder or address of the index, folder of the job. Says "started", and the seconds of writing and of the rest.
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
