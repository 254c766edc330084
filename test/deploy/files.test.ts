import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/package.ts'
import { ConfigSchema } from '../../src/settings.ts'

const read = (file: string): string => readFileSync(path.join(packageRoot(), file), 'utf8')

/** Settings that a text names. */
function settings(text: string): string[] {
  return [...text.matchAll(/\bCEPE_([A-Z_]+)\b/g)].map(([, name = '']) => name)
}

/** Whether a build of an image is given a path: the last line of .dockerignore that fits it, or a folder it is in, decides. */
function inContext(file: string): boolean {
  const names = file.split('/')
  const [all, ...lines] = read('.dockerignore').trim().split('\n')
  if (all !== '**') throw new Error('.dockerignore is no list of what is let in')
  return lines.reduce((given, line) => {
    const pattern = line
      .replace(/^!/, '')
      .replaceAll('.', '\\.')
      .replaceAll('**/', '(?:.*/)?')
      .replaceAll(/(?<![.)])\*/g, '[^/]*')
    const fits = names.some((_, i) => new RegExp(`^${pattern}$`).test(names.slice(0, i + 1).join('/')))
    return fits ? line.startsWith('!') : given
  }, false)
}

interface Compose {
  readonly services: Record<string, { readonly ports?: string[]; readonly volumes?: string[]; readonly image?: string }>
  readonly volumes: Record<string, unknown>
}

t.test('what is deployed names settings and files that there are', (t) => {
  for (const file of ['Dockerfile', 'compose.yaml', 'deploy/cepe-qa.service'])
    for (const name of settings(read(file))) t.ok(name in ConfigSchema.properties, `${file}: CEPE_${name}`)
  for (const [, sources = ''] of read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm))
    for (const source of sources.split(' ')) {
      t.ok(existsSync(path.join(packageRoot(), source)), source)
      t.ok(inContext(source), `${source} is not left out by .dockerignore`)
    }
  for (const [, source = ''] of read('Dockerfile').matchAll(/^COPY --from=build \/app\/(\S+)/gm))
    t.ok(['node_modules', 'dist'].includes(source) || existsSync(path.join(packageRoot(), source)), source)
  t.match(read('Dockerfile'), /^USER 1000:1000$/m)
  t.notOk(
    settings(read('Dockerfile').replace(/^HEALTHCHECK[^]*?^\S/m, '')).includes('PORT'),
    'a platform sets PORT, which CEPE_PORT would hide',
  )
  t.end()
})

t.test('what the images are built from is not left out by .dockerignore, and nothing secret or large is let in', (t) => {
  for (const file of [
    'models/reader/checkpoint/smollm2-135m-qa/config.json',
    'models/reader/adapters/qwen2.5-coder-0.5b-instruct/adapter_model.safetensors',
    'deploy/ray/embed_corpus.py',
    'deploy/ray/pool.py',
    'deploy/ray/worker.py',
  ])
    t.ok(existsSync(path.join(packageRoot(), file)) && inContext(file), file)
  for (const file of [
    '.env',
    'src/.env',
    'keys/ann.key.json',
    '.git/HEAD',
    'node_modules/tap/package.json',
    'index/data/passages.lance',
    'dist/src/cli.js',
  ])
    t.notOk(inContext(file), file)
  t.end()
})

t.test('compose: every file and volume that is mounted is there, nothing is published beyond this machine', (t) => {
  const { services, volumes } = parse(read('compose.yaml')) as Compose
  t.same(Object.keys(services), ['cepe', 'prometheus', 'grafana'])
  for (const [name, service] of Object.entries(services)) {
    for (const port of service.ports ?? []) t.match(port, /^127\.0\.0\.1:\d+:\d+$/, name)
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      t.ok(source.startsWith('.') ? existsSync(path.join(packageRoot(), source)) : source in volumes, volume)
    }
  }
  const scraped = parse(read('deploy/prometheus.yaml')) as { scrape_configs: { static_configs: { targets: string[] }[] }[] }
  t.same(scraped.scrape_configs[0]?.static_configs[0]?.targets, ['cepe:8080'], 'the name and port of the service')
  for (const folder of ['datasources', 'dashboards'])
    for (const file of readdirSync(path.join(packageRoot(), 'deploy/grafana/provisioning', folder)))
      t.match(parse(read(`deploy/grafana/provisioning/${folder}/${file}`)), { apiVersion: 1 }, file)
  t.end()
})
