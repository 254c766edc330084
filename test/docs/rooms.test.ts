import path from 'node:path'
import t from 'tap'
import { circlesOf, roomsOf } from '../helpers/rooms.ts'
import { PRODUCTION, sourcesOf } from '../helpers/sources.ts'

/** Most source files of a room, so that a reader can keep them in mind. */
const MOST_FILES = 16
/** Rooms that list things of one kind. */
const LISTS = ['src/cli', 'src/http/routes', 'src/rag']
const MOST_LISTED = 28

/** Rooms that one room imports from, and that a room does on average. */
const MOST_ARROWS = 30
const MEAN_ARROWS = 6.3

const sources = sourcesOf(PRODUCTION)

t.test('no room has too many files', (t) => {
  const files = new Map<string, number>()
  for (const file of sources.keys()) files.set(path.dirname(file), (files.get(path.dirname(file)) ?? 0) + 1)
  for (const [room, count] of files) t.ok(count <= (LISTS.includes(room) ? MOST_LISTED : MOST_FILES), `${room}: ${count} files`)
  t.end()
})

t.test('imports between rooms have no circles, and are few', (t) => {
  const rooms = roomsOf(new Map([...sources].map(([file, { imports }]) => [file, [...imports.keys()]])))
  t.same(circlesOf(rooms), [])
  let arrows = 0
  for (const [room, others] of rooms) {
    t.ok(others.size <= MOST_ARROWS, `${room} imports from ${others.size} rooms`)
    arrows += others.size
  }
  t.ok(arrows / rooms.size <= MEAN_ARROWS, `${arrows} arrows of ${rooms.size} rooms`)
  t.end()
})

t.test('a circle of rooms is found, whichever of their files closes it', (t) => {
  const imports = new Map([
    ['a/top.ts', ['a/b/one.ts', 'a/ground.ts']],
    ['a/ground.ts', []],
    ['a/b/one.ts', ['a/ground.ts', 'c/two.ts']],
    ['c/two.ts', []],
    ['c/three.ts', ['a/b/one.ts']],
    ['entry.ts', ['a/top.ts', 'c/three.ts', 'c/two.ts']],
  ])
  const rooms = roomsOf(imports)
  t.same([...(rooms.get('a/*') ?? [])], ['a/b', 'a'])
  t.same(circlesOf(rooms), [['a/b', 'c']])
  t.end()
})
