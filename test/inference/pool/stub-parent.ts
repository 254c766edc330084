/** A service of one pool for the test that kills it: prints its process's id and waits. */
import { createPool } from '../../../src/inference/pool/pool.ts'
import { stubOptions } from './stub.ts'

const pool = await createPool(stubOptions(process.argv[2] ?? ''))
process.stdout.write(`${pool.status().children[0]?.pid ?? ''}\n`)
setInterval(() => undefined, 1000)
