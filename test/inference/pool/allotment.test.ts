import { availableParallelism } from 'node:os'
import t from 'tap'
import { allotCores, usableCores } from '../../../src/inference/pool/allotment.ts'

t.test('cores are shared out by the model; what is set is taken', (t) => {
  const [small, large] = [15_000_000, 7_000_000_000]
  const cases: [Parameters<typeof allotCores>[0], number, number][] = [
    [{ cores: 1, parameters: small }, 1, 1],
    [{ cores: 2, parameters: small }, 2, 1],
    [{ cores: 3, parameters: small }, 3, 1],
    [{ cores: 5, parameters: small }, 4, 1],
    [{ cores: 8, parameters: small }, 4, 2],
    [{ cores: 32, parameters: small }, 4, 8],
    [{ cores: 2, parameters: large }, 1, 2],
    [{ cores: 32, parameters: large }, 1, 32],
    [{ cores: 8, parameters: large, readers: 3 }, 3, 2],
    [{ cores: 2, parameters: small, readers: 8 }, 8, 1],
    [{ cores: 2, parameters: small, readers: 1 }, 1, 2],
    [{ cores: 8, parameters: small, threads: 1 }, 1, 1],
    [{ cores: 8, parameters: small, readers: 2, threads: 16 }, 2, 16],
  ]
  for (const [given, readers, threads] of cases) t.same(allotCores(given), { readers, threads }, JSON.stringify(given))
  t.end()
})

t.test("a container's quota counts", (t) => {
  const cores = availableParallelism()
  t.equal(usableCores('max 100000\n'), cores)
  t.equal(usableCores(''), cores)
  t.equal(usableCores('150000 100000\n'), Math.min(cores, 2))
  t.equal(usableCores('1000 100000'), 1)
  t.ok(usableCores() >= 1)
  t.end()
})
