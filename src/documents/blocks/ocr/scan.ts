import { getResolvedPDFJS, type getDocumentProxy } from 'unpdf'
import { at } from '../../../../base/at.ts'
import { OCR_LIMITS } from '../../contract.ts'

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>
type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number]

/** An image as pdf.js decodes it: rows of bits (1: white; of a mask: not painted), of RGB or of RGBA. */
interface Image {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
  readonly isMask: boolean
  /** From the unit square to the page. */
  readonly matrix: Matrix
}

/** Draws the images of a page, as a PGM file. @throws if it has none that can be decoded */
export async function drawImages(page: Page): Promise<Uint8Array> {
  const { width, height, transform } = page.getViewport({ scale: 1 })
  const images = await imagesOf(page, transform as unknown as Matrix)
  page.cleanup()
  const [largest] = images.toSorted((a, b) => areaOf(b) - areaOf(a))
  if (largest === undefined) throw new Error('no picture that can be decoded')
  const pixels = Math.min((largest.width * largest.height * width * height) / areaOf(largest), OCR_LIMITS.pixels)
  const scale = Math.sqrt(pixels / (width * height))
  const [columns, rows] = [Math.ceil(width * scale), Math.floor(pixels / Math.ceil(width * scale))]
  const head = Buffer.from(`P5 ${columns} ${rows} 255\n`)
  const file = Buffer.alloc(head.length + columns * rows, 255)
  head.copy(file)
  for (const image of images) paint(file.subarray(head.length), [columns, rows], image, scale)
  return file
}

async function imagesOf(page: Page, transform: Matrix): Promise<Image[]> {
  const { OPS, Util } = await getResolvedPDFJS()
  const { fnArray, argsArray } = await page.getOperatorList()
  const found: Image[] = []
  const saved: Matrix[] = []
  let matrix = transform
  for (const [i, operator] of fnArray.entries()) {
    const args = at(argsArray, i) as readonly unknown[] | null
    if (operator === OPS.save || operator === OPS.paintFormXObjectBegin) saved.push(matrix)
    if (operator === OPS.restore || operator === OPS.paintFormXObjectEnd) matrix = saved.pop() ?? transform
    const moved = operator === OPS.transform ? args : operator === OPS.paintFormXObjectBegin ? args?.[0] : undefined
    if (moved) matrix = Util.transform([...matrix], moved) as unknown as Matrix
    const isMask = operator === OPS.paintImageMaskXObject
    if (!isMask && operator !== OPS.paintImageXObject && operator !== OPS.paintInlineImageXObject) continue
    const given = args?.[0] as string | { readonly data: unknown } | undefined
    const name = typeof given === 'object' ? given.data : given
    const objects = typeof name === 'string' && name.startsWith('g_') ? page.commonObjs : page.objs
    const decoded = typeof name === 'string' ? await new Promise((resolve) => void objects.get(name, resolve)) : given
    const image = { ...(decoded as Image | null), isMask, matrix } as Image
    if (ArrayBuffer.isView(image.data) && areaOf(image) > 0) found.push(image)
  }
  return found
}

function areaOf({ matrix: [a, b, c, d] }: Image): number {
  return Math.abs(a * d - b * c)
}

/** Draws an image onto rows of grey pixels, by the nearest pixel. */
function paint(onto: Uint8Array, [columns, rows]: readonly [number, number], image: Image, scale: number): void {
  const { width, height, data, isMask } = image
  const [a, b, c, d, e, f] = image.matrix.map((value) => value * scale) as unknown as Matrix
  const channels = Math.floor(data.length / (width * height))
  for (let i = 0; i < columns * rows; i++) {
    const [x, y] = [(i % columns) + 0.5 - e, Math.floor(i / columns) + 0.5 - f]
    const column = Math.floor(((d * x - c * y) / (a * d - b * c)) * width)
    // The first row of an image is its upper edge.
    const row = Math.floor((1 - (a * y - b * x) / (a * d - b * c)) * height)
    if (!(column >= 0 && column < width && row >= 0 && row < height)) continue
    const start = (row * width + column) * channels
    const [red = 0, green = 0, blue = 0] = channels < 3 ? [] : [data[start], data[start + 1], data[start + 2]]
    const bit = Number(data[row * Math.ceil(width / 8) + (column >> 3)]) & (128 >> (column & 7))
    const isTransparent = channels === 4 ? Number(data[start + 3]) < 128 : isMask && bit !== 0
    if (!isTransparent) onto[i] = channels >= 3 ? 0.3 * red + 0.59 * green + 0.11 * blue : bit === 0 ? 0 : 255
  }
}
