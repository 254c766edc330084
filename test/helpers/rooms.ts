import path from 'node:path'

/** The files that each file of the project imports, of the project itself. */
export type Imports = ReadonlyMap<string, readonly string[]>

/**
 * The rooms of the project and those that each imports from. A room is a folder. The files of a folder that reach none of its subfolders are its
 * ground, which the subfolders may use; the others are its top, marked `/*`. A file that nothing imports is an entry, and a room of its own.
 */
export function roomsOf(imports: Imports): Map<string, Set<string>> {
  const imported = new Set([...imports.values()].flat())
  const roomOf = (file: string): string => {
    const folder = path.dirname(file)
    if (!imported.has(file)) return file
    return reachesBelow(folder, file, imports) ? `${folder}/*` : folder
  }
  const rooms = new Map<string, Set<string>>()
  for (const [file, targets] of imports) {
    const room = roomOf(file)
    const others = rooms.get(room) ?? new Set()
    rooms.set(room, others)
    for (const target of targets) if (imports.has(target) && roomOf(target) !== room) others.add(roomOf(target))
  }
  return rooms
}

function reachesBelow(folder: string, start: string, imports: Imports): boolean {
  const seen = new Set([start])
  for (const file of seen)
    for (const target of imports.get(file) ?? []) {
      if (path.dirname(target) === folder) seen.add(target)
      else if (target.startsWith(`${folder}/`)) return true
    }
  return false
}

/** Groups of rooms each of which reaches all others of its group, in alphabetical order. */
export function circlesOf(rooms: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reach = new Map([...rooms.keys()].map((room) => [room, reachedFrom(room, rooms)]))
  const circles = new Map<string, string[]>()
  for (const [room, reached] of reach) {
    const group = [...reached].filter((other) => reach.get(other)?.has(room) === true).sort()
    if (group.length > 0) circles.set(group.join(), group)
  }
  return [...circles.values()].sort((a, b) => (a.join() < b.join() ? -1 : 1))
}

function reachedFrom(room: string, rooms: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set(rooms.get(room))
  for (const one of reached) for (const next of rooms.get(one) ?? []) reached.add(next)
  return reached
}
