import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { PersistentVolumeClaim, Secret, Service } from 'kubernetes-models/v1'
import { PodSpec } from 'kubernetes-models/v1/PodSpec'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { ConfigSchema } from '../../src/settings.ts'

const BASE = 'deploy/kubernetes/base'

/** A manifest as far as it is looked at here. */
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly selector: { readonly matchLabels: object } & object
    readonly replicas?: number
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod }
    readonly scaleTargetRef: { readonly kind: string; readonly name: string }
    readonly metrics: readonly { readonly pods: { readonly metric: { readonly name: string } } }[]
    readonly ports: readonly { readonly targetPort: string }[]
    readonly clusterIP?: string
    readonly podSelector: { readonly matchLabels: object }
    readonly policyTypes: readonly string[]
    readonly ingress: readonly { readonly ports: readonly object[]; readonly from: readonly { readonly podSelector?: object }[] }[]
    readonly egress: readonly object[]
  }
}
interface Pod {
  readonly containers: readonly Container[]
  readonly volumes: readonly {
    readonly name: string
    readonly persistentVolumeClaim?: { readonly claimName: string }
    readonly emptyDir?: object
  }[]
  readonly terminationGracePeriodSeconds: number
  readonly enableServiceLinks?: boolean
}
interface Container {
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly envFrom?: readonly Record<string, { readonly name: string }>[]
  readonly image: string
  readonly securityContext?: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly readinessProbe?: { readonly httpGet: { readonly path: string; readonly port: string } }
}

/** Schemas of Kubernetes' own OpenAPI description. */
const KINDS = {
  Deployment,
  StatefulSet,
  Service,
  HorizontalPodAutoscaler,
  NetworkPolicy,
  PodDisruptionBudget,
  PersistentVolumeClaim,
  Secret,
}

async function yamlFile<T>(file: string): Promise<T> {
  return parse(await readFile(file, 'utf8'), { merge: true, strict: true }) as T
}

async function manifests(): Promise<{ file: string; value: Manifest }[]> {
  const { resources } = await yamlFile<{ resources: string[] }>(path.join(BASE, 'kustomization.yaml'))
  const all = await Promise.all(
    resources.map(async (file) =>
      parseAllDocuments(await readFile(path.join(BASE, file), 'utf8')).map((document) => {
        for (const error of document.errors) throw error
        return { file, value: document.toJS() as Manifest }
      }),
    ),
  )
  return all.flat()
}

async function settings(folder = BASE): Promise<Record<string, string>> {
  const lines = (await readFile(path.join(folder, 'settings.env'), 'utf8')).trim().split('\n')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

/** Settings that the service's image brings. */
async function settingsOfImage(): Promise<Record<string, string>> {
  const [, given = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(await readFile('Dockerfile', 'utf8')) ?? []
  return Object.fromEntries([...given.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]))
}

await t.test('every manifest is what its kind asks for', async (t) => {
  for (const { file, value } of await manifests()) {
    const Kind = KINDS[value.kind as keyof typeof KINDS] as unknown as new (data: object) => { validate(): void }
    t.doesNotThrow(() => new Kind(value).validate(), `${file}: ${value.kind} ${value.metadata.name}`)
  }
  const [replicas] = await pods()
  t.throws(() => new PodSpec({ ...replicas?.spec, terminationGracePeriodSeconds: 'a minute' } as never).validate(), 'a wrong one is seen')
})

async function pods(): Promise<{ name: string; spec: Pod; labels: object; selector: object; replicas: number | undefined }[]> {
  return (await manifests()).flatMap(({ value: { kind, metadata, spec } }) =>
    kind === 'Deployment' || kind === 'StatefulSet'
      ? [
          {
            name: metadata.name,
            spec: spec.template.spec,
            labels: spec.template.metadata.labels,
            selector: spec.selector.matchLabels,
            replicas: spec.replicas,
          },
        ]
      : [],
  )
}

await t.test('they fit together', async (t) => {
  const all = (await manifests()).map(({ value }) => value)
  const named = (kind: string): string[] => all.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name)
  const workloads = await pods()
  t.same(
    workloads.map(({ name }) => name),
    ['cepe-replica', 'cepe-indexer'],
  )
  for (const { name, spec, labels, selector } of workloads) {
    t.same(labels, selector, `${name} selects its own pods`)
    for (const { volumeMounts, envFrom = [], ports = [], readinessProbe } of spec.containers) {
      const volumes = spec.volumes.map((volume) => volume.name)
      t.ok(
        volumeMounts.every((mount) => volumes.includes(mount.name)),
        `${name} mounts what it has`,
      )
      for (const { secretRef } of envFrom) if (secretRef) t.ok(named('Secret').includes(secretRef.name))
      t.equal(readinessProbe?.httpGet.port, ports[0]?.name)
    }
    for (const { persistentVolumeClaim } of spec.volumes)
      if (persistentVolumeClaim) t.ok(named('PersistentVolumeClaim').includes(persistentVolumeClaim.claimName))
    const { DRAIN_MS } = loadConfig({}, {})
    t.ok(spec.terminationGracePeriodSeconds * 1000 > DRAIN_MS + 15_000, 'running questions are answered before the end')
  }
  t.equal(workloads[1]?.replicas, 1, 'one writes')
  const autoscaler = all.find(({ kind }) => kind === 'HorizontalPodAutoscaler')
  t.match(autoscaler?.spec.scaleTargetRef, { kind: 'Deployment', name: 'cepe-replica' })
  const metric = autoscaler?.spec.metrics[0]?.pods.metric.name ?? ''
  t.ok((await readFile('src/http/observability/metrics.ts', 'utf8')).includes(`'${metric}'`), `${metric} is a metric that the service has`)
})

await t.test('a pod writes to its volumes alone, and only those who ask it reach it', async (t) => {
  const policies = (await manifests()).filter(({ value }) => value.kind === 'NetworkPolicy').map(({ value }) => value)
  for (const { name, spec, labels } of await pods()) {
    for (const { securityContext, volumeMounts } of spec.containers) {
      t.match(securityContext, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }, name)
      const tmp = volumeMounts.find(({ mountPath }) => mountPath === '/tmp')
      t.match(spec.volumes.find((volume) => volume.name === tmp?.name)?.emptyDir, { sizeLimit: /^\d+Gi$/ }, `${name} has a /tmp`)
    }
    const [policy, ...more] = policies.filter((one) => JSON.stringify(one.spec.podSelector.matchLabels) === JSON.stringify(labels))
    t.equal(more.length, 0)
    t.match(policy?.spec, { policyTypes: ['Ingress', 'Egress'], ingress: [{ ports: [{ port: 'http' }] }], egress: [] }, name)
    t.ok((policy?.spec.ingress[0]?.from.length ?? 0) > 0, 'an empty list would let in everybody')
  }
  const indexer = policies.find(({ metadata }) => metadata.name === 'cepe-indexer')
  t.notOk(
    indexer?.spec.ingress[0]?.from.some(({ podSelector }) => podSelector && Object.keys(podSelector).length === 0),
    'not all pods reach the key',
  )
})

await t.test('images are named by digest', async (t) => {
  interface Kustomization {
    readonly images: readonly { readonly name: string; readonly newTag?: string; readonly digest?: string }[]
  }
  const { images } = await yamlFile<Kustomization>(path.join(BASE, 'kustomization.yaml'))
  for (const { spec } of await pods())
    for (const { image } of spec.containers) {
      const pinned = images.find(({ name }) => name === image)
      t.match(pinned?.digest, /^sha256:[0-9a-f]{64}$/, image)
      t.equal(pinned?.newTag, undefined)
    }
})

await t.test('the key that is shipped is refused', async (t) => {
  const { stringData } = await yamlFile<{ stringData: Record<string, string> }>(path.join(BASE, 'secret.yaml'))
  t.throws(() => loadConfig({}, stringData), { code: 'config_invalid', field: 'CEPE_ADMIN_KEY', message: /is a placeholder/ })
})

/** Variables that a cluster gives to all pods that do not turn it off, for every Service with an address. */
async function serviceLinks(): Promise<Record<string, string>> {
  const services = (await manifests()).filter(({ value: { kind, spec } }) => kind === 'Service' && spec.clusterIP !== 'None')
  const links = services.flatMap(({ value: { metadata } }) => {
    const name = metadata.name.toUpperCase().replaceAll('-', '_')
    return [
      [`${name}_SERVICE_HOST`, '10.0.0.1'],
      [`${name}_PORT`, 'tcp://10.0.0.1:80'],
    ]
  })
  return Object.fromEntries(links) as Record<string, string>
}

await t.test('their settings are settings, and roles are what they say', async (t) => {
  for (const { name, spec } of await pods()) {
    const own = Object.fromEntries(spec.containers[0]?.env.map((one) => [one.name, one.value]) ?? [])
    const links = spec.enableServiceLinks === false ? {} : await serviceLinks()
    const given = { ...(await settingsOfImage()), ...links, ...(await settings()), ...own }
    const config = loadConfig({}, { ...given, CEPE_ADMIN_KEY: 'a-key-of-this-test' })
    t.same([config.READER_CHECKPOINT, config.RETRIEVER_CHECKPOINT], ['', ''], "the shipped models are not built over the volume's")
    t.equal(config.KEYS_DIR, '/data/keys')
    t.equal(`cepe-${config.ROLE}`, name)
    t.equal(config.MIRROR_DIR, config.ROLE === 'replica' ? '/mirror' : undefined)
    t.equal(config.PORT, spec.containers[0]?.ports?.[0]?.containerPort)
    t.equal(config.HOST, '0.0.0.0')
    t.equal(config.TRUST_PROXY, '', 'there is no ingress: a client could name any address as its own')
  }
})

await t.test('the overlay for an object store fits the base', async (t) => {
  const folder = 'deploy/kubernetes/object-store'
  interface Overlay {
    readonly resources: readonly string[]
    readonly configMapGenerator: readonly { readonly name: string; readonly behavior: string }[]
    readonly patches: readonly { readonly target: { readonly kind: string; readonly name?: string }; readonly patch: string }[]
  }
  const { resources, configMapGenerator, patches } = await yamlFile<Overlay>(path.join(folder, 'kustomization.yaml'))
  for (const resource of resources) t.ok(existsSync(path.join(folder, resource)), resource)
  t.match(configMapGenerator, [{ name: 'cepe-settings', behavior: 'merge' }])
  const secret = await yamlFile<{ metadata: { name: string }; stringData: Record<string, string> }>(path.join(folder, 'secret.yaml'))
  t.doesNotThrow(() => new Secret(secret).validate())
  const own = await settings(folder)
  const network = patches.find(({ target }) => target.kind === 'NetworkPolicy')
  t.match(parse(network?.patch ?? ''), [
    { op: 'add', path: '/spec/egress/-', value: { ports: [{ port: 53 }, { port: 53 }, { port: 443 }] } },
  ])
  for (const { name, spec } of await pods()) {
    const patch = patches.find(({ target }) => target.name === name)
    t.match(parse(patch?.patch ?? ''), [{ op: 'add', value: { secretRef: { name: secret.metadata.name } } }])
    t.ok(spec.containers[0]?.envFrom, 'there is a list to add to')
    const role = Object.fromEntries(spec.containers[0]?.env.map((one) => [one.name, one.value]) ?? [])
    const config = loadConfig({}, { ...(await settings()), ...own, ...secret.stringData, ...role })
    t.equal(config.INDEX_DIR, own['CEPE_INDEX_DIR'])
  }
})

await t.test('the cluster of compose on an object store', async (t) => {
  interface Compose {
    readonly services: Record<string, { readonly environment?: Record<string, string>; readonly volumes?: readonly string[] }>
    readonly volumes: object
  }
  const base = await yamlFile<Compose>('deploy/compose.cluster.yaml')
  const { services, volumes } = await yamlFile<Compose>('deploy/compose.object-store.yaml')
  t.same(Object.keys(volumes), ['store'])
  for (const role of ['indexer', 'replica']) {
    const environment = { ...base.services[role]?.environment, ...services[role]?.environment }
    const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => !value.startsWith('${')))
    t.equal(loadConfig({}, { ...given, AWS_SECRET_ACCESS_KEY: 'a-key' }).INDEX_DIR, 's3://cepe/index')
  }
  t.equal(services['store']?.environment?.['MINIO_ROOT_USER'], services['replica']?.environment?.['AWS_ACCESS_KEY_ID'])
})

await t.test('the cluster of compose', async (t) => {
  interface Compose {
    readonly services: Record<string, { readonly environment?: Record<string, string>; readonly deploy?: { replicas: number } }>
    readonly volumes: object
  }
  const { services, volumes } = await yamlFile<Compose>('deploy/compose.cluster.yaml')
  t.same(Object.keys(services), ['indexer', 'replica', 'balancer'])
  t.equal(services['replica']?.deploy?.replicas, 3)
  t.same(Object.keys(volumes), ['data'])
  for (const role of ['indexer', 'replica']) {
    const environment = services[role]?.environment ?? {}
    t.equal(environment['CEPE_ROLE'], role)
    for (const name of Object.keys(environment)) t.ok(name.slice('CEPE_'.length) in ConfigSchema.properties, name)
    const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => !value.startsWith('${')))
    t.doesNotThrow(() => loadConfig({}, given), role)
  }
})

await t.test('the RayJob runs the script that is there', async (t) => {
  const job = await yamlFile<Record<string, unknown>>('deploy/ray/rayjob.yaml')
  t.match(job, { apiVersion: 'ray.io/v1', kind: 'RayJob' })
  const spec = job['spec'] as {
    entrypoint: string
    rayClusterSpec: {
      rayVersion: string
      headGroupSpec: { template: { spec: object } }
      workerGroupSpecs: { template: { spec: object } }[]
    }
  }
  const script = /\/opt\/cepe\/(\S+\.py)/.exec(spec.entrypoint)?.[1] ?? ''
  t.ok(existsSync(script), script)
  const source = await readFile(script, 'utf8')
  for (const [option] of spec.entrypoint.matchAll(/--[a-z-]+/g)) t.ok(source.includes(`"${option}"`), option)
  const { rayVersion, headGroupSpec, workerGroupSpecs } = spec.rayClusterSpec
  t.equal(await readFile('deploy/ray/requirements.txt', 'utf8'), `ray==${rayVersion}\n`)
  t.match(await readFile('deploy/ray/Dockerfile', 'utf8'), `rayproject/ray:${rayVersion}-`)
  for (const { template } of [headGroupSpec, ...workerGroupSpecs]) t.doesNotThrow(() => new PodSpec(template.spec as never).validate())
})
