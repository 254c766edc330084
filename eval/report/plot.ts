import { createRequire } from 'node:module'
import path from 'node:path'
import { Resvg } from '@resvg/resvg-js'
import * as vega from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'

const FONT = 'DejaVu Sans'
/** Pixels per unit in PNGs, for high-density screens. */
const PNG_SCALE = 2

/** The fonts come with the package: bare containers have none, and text would be missing without a word. */
function fontFiles(): string[] {
  const folder = path.dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json'))
  return ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((file) => path.join(folder, 'ttf', file))
}

/** Draws a Vega-Lite chart without a browser. */
export async function renderPlot(spec: TopLevelSpec): Promise<{ svg: string; png: Buffer }> {
  const styled: TopLevelSpec = {
    background: 'white',
    padding: 8,
    ...spec,
    config: {
      font: `${FONT}, sans-serif`,
      axis: { labelFontSize: 12, titleFontSize: 13, labelLimit: 400 },
      legend: { labelFontSize: 12, titleFontSize: 13 },
    },
  }
  const view = new vega.View(vega.parse(compile(styled).spec), { renderer: 'none' })
  try {
    const svg = await view.toSVG()
    const png = new Resvg(svg, {
      font: { fontFiles: fontFiles(), loadSystemFonts: false, defaultFontFamily: FONT },
      fitTo: { mode: 'zoom', value: PNG_SCALE },
    })
      .render()
      .asPng()
    return { svg, png }
  } finally {
    view.finalize()
  }
}
