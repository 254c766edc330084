import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** In node_modules, so that a new installation removes it. */
const BUILT = 'node_modules/.tap-plugins'

/** Builds tap with the plugins of package.json, where that is not done: with its own set each test would load the compiler. */
export function buildTap(): void {
  const { tap } = JSON.parse(readFileSync('package.json', 'utf8')) as { tap: { plugin: string[] } }
  const wanted = JSON.stringify(tap.plugin)
  if (existsSync(BUILT) && readFileSync(BUILT, 'utf8') === wanted) return
  const { status } = spawnSync('node_modules/.bin/tap', ['build'], { stdio: 'inherit' })
  if (status !== 0) throw new Error('tap build failed.')
  writeFileSync(BUILT, wanted)
}
