/** One-way layers: see the design section of README.md. */
const inside = (...folders) => `^(${folders.join('|')})/`
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, path: inside('base', 'src', 'models', 'index'), pathNot: '\\.d\\.ts$' }, to: {} },
    { name: 'base-is-the-ground', severity: 'error', from: { path: inside('base') }, to: { path: inside('src', 'models', 'index', 'migrations', 'eval', 'test', 'node_modules') } },
    { name: 'base-files-stand-alone', severity: 'error', from: { path: inside('base'), pathNot: '^base/(durable|process|binary16)\\.ts$' }, to: { path: inside('base') } },
    { name: 'models-alone', severity: 'error', from: { path: inside('models') }, to: { path: inside('src', 'index', 'migrations', 'eval', 'test') } },
    { name: 'index-alone', severity: 'error', from: { path: inside('index') }, to: { path: inside('src', 'models', 'eval', 'test') } },
    { name: 'migrations-only-index', severity: 'error', from: { path: inside('migrations') }, to: { path: inside('src', 'models', 'eval', 'test') } },
    { name: 'nothing-imports-eval-or-test', severity: 'error', from: { path: inside('src', 'models', 'index', 'migrations'), pathNot: '^src/cli/eval\\.ts$' }, to: { path: inside('eval', 'test') } },
    { name: 'text-is-a-leaf', severity: 'error', from: { path: '^src/text/' }, to: { path: '^src/(?!text/)' } },
    { name: 'inference-below-rag', severity: 'error', from: { path: '^src/inference/' }, to: { path: '^src/(?!inference/|text/)' } },
    { name: 'pool-and-worker-meet-in-messages', severity: 'error', from: { path: '^src/inference/pool/' }, to: { path: '^src/inference/worker/' } },
    { name: 'worker-knows-no-pool', severity: 'error', from: { path: '^src/inference/worker/' }, to: { path: '^src/inference/pool/' } },
    { name: 'pool-never-reaches-ort', severity: 'error', from: { path: '^src/inference/pool/' }, to: { path: 'node_modules/onnxruntime-node/', reachable: true } },
    { name: 'rag-below-http', severity: 'error', from: { path: '^src/rag/' }, to: { path: '^src/(?!rag/|inference/|text/)' } },
    { name: 'jobs-below-http', severity: 'error', from: { path: '^src/jobs/' }, to: { path: '^src/(?!jobs/|inference/|text/)' } },
    { name: 'http-below-app', severity: 'error', from: { path: '^src/http/' }, to: { path: '^src/(?!http/|rag/|jobs/|inference/|text/|config\\.ts)' } },
    { name: 'leaves', severity: 'error', from: { path: '^src/config\\.ts$' }, to: { path: '^src/' } },
    { name: 'fastify-in-http-only', severity: 'error', from: { path: inside('src', 'models', 'index', 'migrations'), pathNot: '^src/(http/|app\\.ts|main\\.ts)' }, to: { path: 'node_modules/(fastify|@fastify)/' } },
    { name: 'one-file-imports-lancedb', severity: 'error', from: { path: inside('src', 'models', 'index', 'migrations', 'eval'), pathNot: '^index/table/lance\\.ts$|^eval/bench/' }, to: { path: 'node_modules/@lancedb/' } },
    { name: 'one-service-file-imports-ort', severity: 'error', from: { path: '^(src|index|migrations)/', pathNot: '^src/inference/worker/session\\.ts$' }, to: { path: 'node_modules/onnxruntime-node/' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|models/built|index/data|models/tiny/recipe)' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'], extensions: ['.ts', '.js'] },
  },
}
