import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { root } from './root.ts'

/** Folders of the product, its evaluation and its benchmarks. */
export const PRODUCTION = ['base', 'src', 'models', 'index', 'migrations', 'eval', 'bench']

export interface Source {
  readonly text: string
  /** Names imported from each file of the project. */
  readonly imports: ReadonlyMap<string, readonly string[]>
}

/** All TypeScript below folders of the project. */
export function sourcesOf(parts: readonly string[]): Map<string, Source> {
  const files = parts.flatMap((part) =>
    readdirSync(path.join(root, part), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
      .map((name) => path.join(part, name)),
  )
  return new Map(files.map((file) => [file, sourceOf(file)]))
}

function sourceOf(file: string): Source {
  const text = readFileSync(path.join(root, file), 'utf8')
  const imports = new Map<string, string[]>()
  const add = (target: string, names: readonly string[]): void => {
    const key = path.join(path.dirname(file), target)
    imports.set(key, [...(imports.get(key) ?? []), ...names])
  }
  for (const [, names = '', target = ''] of text.matchAll(/(?:import|export)(?: type)? \{([^}]*)\} from '(\.[^']+)'/g))
    add(
      target,
      [...names.matchAll(/(?:type )?(\w+)(?: as \w+)?/g)].map(([, name = '']) => name),
    )
  // What is imported while the program runs, or as a whole, is used by its name somewhere in the file.
  const whole = /import\('(\.[^']+)'\)|(?:import|export)(?: type)? \* (?:as \w+ )?from '(\.[^']+)'|import '(\.[^']+)'/g
  for (const [, ...targets] of text.matchAll(whole)) add(targets.find((target) => target !== undefined) ?? '', text.match(/\w+/g) ?? [])
  return { text, imports }
}
