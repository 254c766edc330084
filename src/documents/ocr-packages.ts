import { createRequire } from 'node:module'

const resolve = createRequire(import.meta.url).resolve

/** Packages that the user installs for OCR: the files of the program and of each language ("eng+deu"), or those that are missing. */
export function ocrPackages(languages: string): { readonly files: readonly string[]; readonly missing: readonly string[] } {
  const data = languages.split('+').map((one) => [`@tesseract.js-data/${one}`, `4.0.0_best_int/${one}.traineddata.gz`])
  const found = [['tesseract.js-core', 'tesseract-core-simd-lstm.js'], ...data].map(([name = '', file = '']) => {
    try {
      return { file: resolve(`${name}/${file}`) }
    } catch {
      return { name }
    }
  })
  return { files: found.flatMap(({ file }) => file ?? []), missing: found.flatMap(({ name }) => name ?? []) }
}
