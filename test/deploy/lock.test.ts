import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { packageRoot } from '../../src/package.ts'

const LockSchema = Type.Object({
  packages: Type.Record(
    Type.String(),
    Type.Object({
      integrity: Type.Optional(Type.String()),
      os: Type.Optional(Type.Array(Type.String())),
      cpu: Type.Optional(Type.Array(Type.String())),
    }),
  ),
})

t.test('what npm ci installs on Linux x64, as the image and the checks do, is held against a hash', (t) => {
  const lock: unknown = JSON.parse(readFileSync(path.join(packageRoot(), 'package-lock.json'), 'utf8'))
  const { packages } = Value.Parse(LockSchema, lock)
  const installed = Object.entries(packages).filter(
    ([folder, { os, cpu }]) => folder !== '' && os?.includes('linux') !== false && cpu?.includes('x64') !== false,
  )
  t.ok(installed.length > 500, `${installed.length} packages`)
  t.same(
    installed.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? '')).map(([folder]) => folder),
    [],
  )
  t.end()
})
