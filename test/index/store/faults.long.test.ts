import t from 'tap'
import { listNames } from '../../../index/store/object-store/objects.ts'
import { openIndex } from '../../../index/open.ts'
import { passageText, type Passage } from '../../../index/contract.ts'
import { startObjectStore, type Fault } from '../../helpers/object-store.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { planned, run } from '../ingest/job-helpers.ts'
import { expected, HERE, isManifest, rowsAt } from './helpers.ts'

/** Strikes a share of the requests that it is for, not in step with anything, the same ones every time (Lehmer). */
function sometimes(share: number, when: Fault['when'], what: Fault['what']): Fault {
  let seed = Math.round(1 / share) + 16
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  return { when: (...request) => when(...request) && next() < share, what }
}

const isOwn: Fault['when'] = (method, path) => method === 'PUT' && /\.json|writer|\/entries\//.test(path)
const isList: Fault['when'] = (method, path) => method === 'GET' && path.includes('list-type=2')

await t.test('answers that are lost, late or wrong: no row is lost, none is there twice', HERE, async (t) => {
  const store = await startObjectStore(t, { answerMs: 1500 })
  const address = store.address()
  const dir = await tempDir(t)
  const [first, second] = [somePassages(230), somePassages(260, 100).map((passage) => ({ ...passage, title: `New ${passage.id}` }))]
  const folders = { j1: await planned(dir, 'j1', first), j2: await planned(dir, 'j2', second) }
  store.faults.push(
    { when: isManifest, times: 1, what: 'hang' },
    { when: isOwn, times: 1, what: 'hang' },
    sometimes(1 / 3, isManifest, 'lose'),
    sometimes(1 / 4, isOwn, 'lose'),
    sometimes(1 / 7, (method) => method === 'PUT', 503),
    sometimes(1 / 5, isList, { ms: 400 }),
    sometimes(1 / 9, (method) => method === 'GET', 500),
  )
  /** Goes on with a job whatever stopped it, as its user would. */
  const finish = async (jobId: 'j1' | 'j2', replace: boolean) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run(address, jobId, { folder: folders[jobId], replace })
      } catch (error) {
        t.comment(`${jobId} was stopped: ${String(error).slice(0, 120)}`)
        if (attempt === 10) throw error
      }
    }
  }
  await finish('j1', true)
  t.same(await rowsAt(address), expected(first))
  await finish('j2', false)
  const changed = new Map([...first, ...second].map((passage) => [passage.id, passage]))
  t.same(await rowsAt(address), expected([...changed.values()]))

  const index = await openIndex({ dir: address, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const put = async (passages: readonly Passage[]) => index.upsert(passages, await embed(passages.map(passageText)))
  for (let at = 0; at < 6; at++) {
    const some = somePassages(3, 480 + 2 * at)
    await put(some).catch(() => put(some))
    for (const passage of some) changed.set(passage.id, passage)
  }
  t.same(await rowsAt(address), expected([...changed.values()]))
  store.faults.length = 0
  t.match(await listNames(`${address}/passages.changes/lists`), ['j1', 'j2'], 'notes are kept until a job is said to be at its end')
})
