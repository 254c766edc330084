import { readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/config.ts'

/** Source files of one room: what a reader can keep in mind. */
const MOST_FILES = 16
/** Rooms that list things of one kind. */
const LISTS = ['src/cli', 'src/http/routes', 'src/rag']
const MOST_LISTED = 28

t.test('no room has more files than can be kept in mind', (t) => {
  for (const part of ['base', 'src', 'models', 'index', 'migrations', 'eval', 'bench']) {
    const files = readdirSync(path.join(packageRoot(), part), { recursive: true, encoding: 'utf8' })
    const rooms = new Map<string, number>()
    for (const file of files.filter((name) => name.endsWith('.ts'))) {
      const room = path.join(part, path.dirname(file))
      rooms.set(room, (rooms.get(room) ?? 0) + 1)
    }
    t.not(rooms.size, 0, part)
    for (const [room, count] of rooms) t.ok(count <= (LISTS.includes(room) ? MOST_LISTED : MOST_FILES), `${room}: ${count} files`)
  }
  t.end()
})
