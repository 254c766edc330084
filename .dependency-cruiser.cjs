/** One-way layers: see docs/tour.md. A file may import what stands before its room in the stack, never what stands behind it. */
const inside = (...folders) => `^(${folders.join('|')})/`
/** Rooms of a folder from the lowest to the highest. Their own subfolders are rooms where they are named too. */
const stack = (folder, rooms) => {
  const pathOf = (room) => {
    const own = rooms.filter((other) => other.startsWith(`${room}/`)).map((other) => other.slice(room.length + 1))
    return own.length > 0 ? `${room}/(?!(${own.join('|')})/)` : `${room}/`
  }
  return rooms.slice(0, -1).map((room, i) => ({
    name: `${folder}-${room}`.replaceAll('/', '-'),
    severity: 'error',
    from: { path: `^${folder}/${pathOf(room)}` },
    to: { path: `^${folder}/(${rooms.slice(i + 1).map(pathOf).join('|')})` },
  }))
}
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, path: inside('base', 'src', 'models', 'index'), pathNot: '^src/http/page/|\\.d\\.ts$' }, to: {} },

    { name: 'base-is-the-ground', severity: 'error', from: { path: inside('base') }, to: { path: inside('src', 'models', 'index', 'migrations', 'eval', 'bench', 'test', 'node_modules') } },
    { name: 'base-files-below-its-rooms', severity: 'error', from: { path: '^base/[^/]+$' }, to: { path: '^base/[^/]+/' } },
    { name: 'base-rooms-alone', severity: 'error', from: { path: '^base/([^/]+)/' }, to: { path: '^base/[^/]+/', pathNot: '^base/$1/' } },
    { name: 'models-config-below-checkpoint', severity: 'error', from: { path: '^models/checkpoint/config/' }, to: { path: '^models/checkpoint/(?!config/)' } },
    { name: 'models-alone', severity: 'error', from: { path: inside('models') }, to: { path: inside('src', 'index', 'migrations', 'eval', 'test') } },
    { name: 'index-alone', severity: 'error', from: { path: inside('index') }, to: { path: inside('src', 'models', 'eval', 'test') } },
    { name: 'migrations-only-declare', severity: 'error', from: { path: inside('migrations') }, to: { path: inside('src', 'models', 'index', 'eval', 'test') } },
    { name: 'nothing-imports-eval-bench-or-test', severity: 'error', from: { path: inside('src', 'models', 'index', 'migrations') }, to: { path: inside('eval', 'bench', 'test') } },
    { name: 'eval-knows-no-bench-or-test', severity: 'error', from: { path: inside('eval') }, to: { path: inside('bench', 'test') } },

    ...stack('index', ['store', 'table', 'versions', 'writers', 'compaction', 'write', 'search', 'ingest/plan', 'ingest', 'ingest/shard-dir', 'vectors']),
    { name: 'index-stores-alone', severity: 'error', from: { path: '^index/store/(folder|object-store)/' }, to: { path: '^index/store/(folder|object-store)/', pathNot: '^index/store/$1/' } },
    { name: 'index-stores-by-their-interface', severity: 'error', from: { path: inside('index', 'src', 'migrations'), pathNot: '^index/store/|^src/config\\.ts$' }, to: { path: '^index/store/(folder|object-store)/' } },
    { name: 'index-read-is-a-leaf', severity: 'error', from: { path: '^index/read/' }, to: { path: '^index/(?!read/)[^/]+/' } },
    { name: 'index-formats-below-read', severity: 'error', from: { path: '^index/read/formats/' }, to: { path: '^index/read/(?!formats/|(contract|column-map)\\.ts$)' } },
    { name: 'index-read-is-for-ingest', severity: 'error', from: { path: '^index/(store|table|versions|writers|compaction|search)/' }, to: { path: '^index/read/' } },
    { name: 'index-replica-only-reads', severity: 'error', from: { path: '^index/replica/' }, to: { path: '^index/(writers|compaction|search|read|ingest|vectors|snapshots)/' } },
    { name: 'index-replica-and-snapshots-on-top', severity: 'error', from: { path: '^index/(?!replica/|snapshots/|collections/)[^/]+/' }, to: { path: '^index/(replica|snapshots|collections)/' } },
    { name: 'index-collections-on-top', severity: 'error', from: { path: '^index/(?!collections/)' }, to: { path: '^index/collections/' } },
    { name: 'collections-by-their-interface', severity: 'error', from: { path: inside('src'), pathNot: '^src/service/' }, to: { path: '^index/collections/(?!(contract|page)\\.ts$)' } },
    { name: 'index-snapshots-below-ingest', severity: 'error', from: { path: '^index/snapshots/' }, to: { path: '^index/(search|read|ingest|vectors|replica)/' } },

    { name: 'client-alone', severity: 'error', from: { path: '^src/client/', pathNot: '^src/client/types\\.ts$' }, to: { pathNot: '^src/client/' } },
    { name: 'client-types-are-erased', severity: 'error', from: { path: '^src/client/types\\.ts$' }, to: { dependencyTypesNot: ['type-only'] } },
    { name: 'client-for-others', severity: 'error', from: { path: inside('base', 'src', 'models', 'index', 'migrations'), pathNot: '^src/client/' }, to: { path: '^src/client/' } },
    { name: 'text-is-a-leaf', severity: 'error', from: { path: '^src/text/' }, to: { path: '^src/(?!text/)' } },
    { name: 'text-below-text-of-documents', severity: 'error', from: { path: '^src/text/[^/]+$' }, to: { path: '^src/text/document/' } },
    { name: 'inference-below-rag', severity: 'error', from: { path: '^src/inference/' }, to: { path: '^src/(?!inference/|text/)' } },
    { name: 'pool-below-its-models', severity: 'error', from: { path: '^src/inference/pool/[^/]+$' }, to: { path: '^src/inference/pool/models/' } },
    { name: 'pool-and-worker-meet-in-messages', severity: 'error', from: { path: '^src/inference/pool/' }, to: { path: '^src/inference/worker/' } },
    { name: 'worker-knows-no-pool', severity: 'error', from: { path: '^src/inference/worker/' }, to: { path: '^src/inference/pool/' } },
    { name: 'pool-never-reaches-ort', severity: 'error', from: { path: '^src/inference/pool/' }, to: { path: 'node_modules/onnxruntime-node/', reachable: true } },
    ...stack('src/inference/worker', ['runtime', 'encoder', 'decoder', 'tasks']),
    { name: 'rag-below-http', severity: 'error', from: { path: '^src/rag/' }, to: { path: '^src/(?!rag/|inference/|text/)' } },
    { name: 'jobs-below-http', severity: 'error', from: { path: '^src/jobs/' }, to: { path: '^src/(?!jobs/|crawl/|documents/|inference/|text/)' } },
    ...stack('src/jobs', ['record', 'sources', 'kept', 'run']),
    { name: 'jobs-rooms-below-orders', severity: 'error', from: { path: '^src/jobs/[^/]+/' }, to: { path: '^src/jobs/[^/]+$' } },
    { name: 'crawl-is-a-leaf', severity: 'error', from: { path: '^src/crawl/' }, to: { path: '^src/(?!crawl/)' } },
    { name: 'http-below-app', severity: 'error', from: { path: '^src/http/' }, to: { path: '^src/(?!http/|mcp/|rag/|jobs/|crawl/|keys/|documents/|inference/|text/|(config|settings|package)\\.ts)' } },
    { name: 'mcp-below-routes', severity: 'error', from: { path: '^src/mcp/' }, to: { path: '^src/(?!mcp/|rag/|inference/|text/|http/errors/)' } },
    { name: 'mcp-for-its-route-alone', severity: 'error', from: { path: '^src/http/(?!routes/)' }, to: { path: '^src/mcp/' } },
    ...stack('src/http', ['errors', 'observability', 'auth', 'idempotency', 'request', 'plugins', 'routes']),
    { name: 'routes-files-below-their-rooms', severity: 'error', from: { path: '^src/http/routes/[^/]+$' }, to: { path: '^src/http/routes/[^/]+/' } },
    ...stack('src/http/routes', ['passages', 'admin', 'openai']),
    { name: 'http-and-keys-know-no-table', severity: 'error', from: { path: '^src/(http|keys)/' }, to: { path: '^index/(table|versions|writers|compaction|replica|search|ingest|snapshots)/' } },
    { name: 'keys-below-http', severity: 'error', from: { path: '^src/keys/' }, to: { path: '^src/(?!keys/|inference/)' } },
    ...stack('src/documents', ['blocks', 'passages', 'corpus']),
    { name: 'documents-markup-below-formats', severity: 'error', from: { path: '^src/documents/blocks/markup/' }, to: { path: '^src/documents/blocks/(?!markup/|contract\\.ts$)' } },
    { name: 'documents-is-a-leaf', severity: 'error', from: { path: '^src/documents/' }, to: { path: '^src/(?!documents/)' } },
    { name: 'service-below-app', severity: 'error', from: { path: '^src/service/' }, to: { path: '^src/(cli/|(app|cli)\\.ts$)' } },
    { name: 'cli-program-below-commands', severity: 'error', from: { path: '^src/cli/program/' }, to: { path: '^src/cli/(?!program/)' } },
    { name: 'cli-index-is-one-command', severity: 'error', from: { path: '^src/cli/index/' }, to: { path: '^src/cli/(?!index/|program/)' } },
    { name: 'leaves', severity: 'error', from: { path: '^src/(config|settings|package)\\.ts$' }, to: { path: '^src/(?!(settings|package)\\.ts)' } },

    { name: 'eval-run-below-tasks', severity: 'error', from: { path: '^eval/run/' }, to: { path: '^eval/(tasks|presets|calibrate|suites)/' } },
    { name: 'eval-below-its-commands', severity: 'error', from: { path: '^eval/(?!commands/|cli\\.ts$)' }, to: { path: '^eval/commands/' } },
    // The image installs production dependencies alone.
    { name: 'program-needs-no-dev-dependency', severity: 'error', from: { path: inside('base', 'src', 'models', 'index', 'migrations', 'eval'), pathNot: '^eval/report/plot\\.ts$' }, to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] } },
    { name: 'fixtures-know-no-tests', severity: 'error', from: { path: '^test/fixtures/' }, to: { path: '^test/(?!fixtures/|helpers/)' } },

    { name: 'fastify-in-http-only', severity: 'error', from: { path: inside('src', 'models', 'index', 'migrations'), pathNot: '^src/(http/|app\\.ts)' }, to: { path: 'node_modules/(fastify|@fastify)/' } },
    { name: 'one-file-imports-lancedb', severity: 'error', from: { path: inside('src', 'models', 'index', 'migrations', 'eval'), pathNot: '^index/table/lance\\.ts$' }, to: { path: 'node_modules/@lancedb/' } },
    { name: 'one-file-imports-ort', severity: 'error', from: { path: inside('base', 'src', 'models', 'index', 'migrations', 'eval', 'test'), pathNot: '^models/runtime\\.ts$' }, to: { path: 'node_modules/onnxruntime-node/' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|models/built|index/data|models/(tiny|reader)/recipe)' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'], extensions: ['.ts', '.js'] },
  },
}
