import tseslint from 'typescript-eslint'

/** A missing element is a broken invariant: `at()` of base/at.ts says so, a stand-in value hides it. */
const INDEX_FALLBACKS = ['Literal', 'ArrayExpression'].map((kind) => ({
  selector: `LogicalExpression[operator='??'][left.type='MemberExpression'][left.computed=true][right.type='${kind}']`,
  message: 'Use at() of base/at.ts, or check for the missing element.',
}))

const ENVIRONMENT = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Only src/config.ts reads process.env.',
}

/** Shares of the processes, and quotas, go by key: a route that names the client itself would pass them by. */
const CLIENTS = ['MemberExpression[property.name="ip"]', 'Property[key.name="ip"]', 'Property[key.name="client"]'].map((selector) => ({
  selector,
  message: 'Take runOptions() of src/http/request/run-options.ts.',
}))

/** What the page uses of a browser. */
const BROWSER = [
  ...['AbortController', 'Error', 'File', 'FormData', 'TextDecoderStream', 'URL', 'URLSearchParams'],
  ...['addEventListener', 'document', 'fetch', 'history', 'localStorage', 'location', 'matchMedia', 'navigator', 'sessionStorage', 'setTimeout'],
]
/** Texts of a corpus are shown as texts. */
const AS_HTML = ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc', 'write'].map((property) => ({
  property,
  message: 'Make elements with element() of dom.js.',
}))

export default tseslint.config(
  { ignores: ['dist/**', 'dist-test/**', 'node_modules/**', 'models/built/**', 'index/data/**', '.tap/**', '**/*.py'] },
  {
    files: ['{base,src,models,index,migrations,eval,test}/**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-floating-promises': [
        'error',
        // A tap subtest is awaited by its parent.
        { ignoreVoid: true, allowForKnownSafeCalls: [{ from: 'package', package: '@tapjs/test', name: ['test'] }] },
      ],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-syntax': ['error', ENVIRONMENT, ...INDEX_FALLBACKS],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      // A screen.
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true, IIFEs: true }],
      'max-params': ['error', 4],
      eqeqeq: 'error',
    },
  },
  { files: ['src/http/routes/**/*.ts'], rules: { 'no-restricted-syntax': ['error', ENVIRONMENT, ...INDEX_FALLBACKS, ...CLIENTS] } },
  { files: ['src/config.ts', 'test/**/*.ts', 'eval/bench/**/*.ts'], rules: { 'no-restricted-syntax': ['error', ...INDEX_FALLBACKS] } },
  {
    files: ['src/http/page/*.js'],
    languageOptions: { sourceType: 'module', globals: Object.fromEntries(BROWSER.map((name) => [name, 'readonly'])) },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-undef': 'error',
      'no-unused-vars': 'error',
      'no-shadow': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-console': 'error',
      'no-var': 'error',
      'no-use-before-define': ['error', { functions: false }],
      'no-restricted-properties': ['error', ...AS_HTML],
      'require-atomic-updates': 'error',
      'prefer-const': 'error',
      eqeqeq: 'error',
      'max-lines': ['error', { max: 200, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true, IIFEs: true }],
      'max-params': ['error', 4],
    },
  },
  { files: ['test/**/*.ts'], rules: { 'max-lines': 'off', 'max-lines-per-function': 'off', 'no-restricted-syntax': 'off' } },
)
