import { CodedError } from '../base/errors.ts'

/** What evaluation needs beside what serving needs; installed with the project unless `--omit=dev` leaves it out. */
const EVALUATION_PACKAGES = ['vega', 'vega-lite', '@resvg/resvg-js', 'dejavu-fonts-ttf'] as const

const INSTALL_EVALUATION_PACKAGES = `npm install --no-save ${EVALUATION_PACKAGES.join(' ')}`

/**
 * Loads a package that an installation for serving does not have.
 * @throws options_invalid saying what to install
 */
export async function evaluationPackage<T>(load: () => Promise<T>, purpose: string): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(String(error.code))))
      throw error
    throw new CodedError(
      'options_invalid',
      `${purpose} needs packages that are not installed: run npm ci without --omit=dev, or ${INSTALL_EVALUATION_PACKAGES}.`,
      { cause: error },
    )
  }
}
