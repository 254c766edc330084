/** What a test may need that is not everywhere. Under CI a test that is left out for any other reason fails the run (test/run.ts). */
export const SKIPS = {
  shared: 'needs ../shared',
  browser: 'needs a browser',
  objectStore: 'needs an S3 server',
  mount: 'needs the right to mount a file system',
  aiSdk: 'needs the AI SDK',
  pythonClients: 'needs Python clients',
  torch: 'needs PyTorch',
  openApiTypeScript: 'needs openapi-typescript',
  ports: 'needs a user who may not open every port',
  cudaProvider: 'needs the CUDA provider (npm run setup:cuda13), gcc and nm',
  linuxX64: 'needs Linux x86-64',
  withoutCuda: 'needs a machine without CUDA',
  packageIndex: 'needs the package index PyPI, or PUBLISHED_CACHE with its files',
  ocr: 'needs tesseract.js-core and @tesseract.js-data/eng',
  vnni: 'needs a CPU with VNNI: others cut sums of 8-bit products',
} as const
