import { createRequire } from 'node:module'
import path from 'node:path'
import type { TopLevelSpec } from 'vega-lite'
import { CodedError, osCode } from '../../base/errors.ts'

/** Installs packages needed for evaluation but not for serving; `npm ci` without `--omit=dev` does, too. */
const INSTALL = 'npm install --no-save vega vega-lite @resvg/resvg-js dejavu-fonts-ttf'

const FONT = 'DejaVu Sans'
/** Pixels per unit in PNGs, for high-density screens. */
const PNG_SCALE = 2

/** Fonts come from a package: bare containers have none, and text would be missing silently. */
function fontFiles(): string[] {
  const folder = path.dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json'))
  return ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((file) => path.join(folder, 'ttf', file))
}

async function packages() {
  const [vega, { compile }, { Resvg }] = await Promise.all([import('vega'), import('vega-lite'), import('@resvg/resvg-js')])
  return { vega, compile, Resvg, fonts: fontFiles() }
}

/** Draws Vega-Lite charts without a browser. @throws options_invalid naming the packages to install, if a serving installation lacks them */
export async function loadPlotter(load = packages) {
  const { vega, compile, Resvg, fonts } = await load().catch((error: unknown) => {
    if (!['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(osCode(error) ?? '')) throw error
    const remedy = `run npm ci without --omit=dev, or ${INSTALL}`
    throw new CodedError('options_invalid', `Drawing plots needs packages that are not installed: ${remedy}.`, { cause: error })
  })
  return {
    render: async (spec: TopLevelSpec) => {
      const view = new vega.View(vega.parse(compile(styled(spec)).spec), { renderer: 'none' })
      try {
        const svg = await view.toSVG()
        const image = new Resvg(svg, {
          font: { fontFiles: fonts, loadSystemFonts: false, defaultFontFamily: FONT },
          fitTo: { mode: 'zoom', value: PNG_SCALE },
        })
        return { svg, png: image.render().asPng() }
      } finally {
        view.finalize()
      }
    },
  }
}

function styled(spec: TopLevelSpec): TopLevelSpec {
  return {
    background: 'white',
    padding: 8,
    ...spec,
    config: {
      font: `${FONT}, sans-serif`,
      axis: { labelFontSize: 12, titleFontSize: 13, labelLimit: 400 },
      legend: { labelFontSize: 12, titleFontSize: 13, labelLimit: 400, symbolStrokeWidth: 2 },
    },
  }
}
