/** What a series stores of its names, and of its values, of which some may be missing. */
const points = (texts: readonly (string | number | undefined)[]): string =>
  texts.map((text, i) => (text === undefined ? '' : `<c:pt idx="${i}"><c:v>${text}</c:v></c:pt>`)).join('')

/** A series of a chart, with the addresses of its cells. @param format of its values */
export const series = (name: string, labels: readonly string[], values: readonly (number | undefined)[], format = 'General'): string =>
  `<c:ser><c:tx><c:strRef><c:f>S!$B$1</c:f><c:strCache>${points([name])}</c:strCache></c:strRef></c:tx>` +
  `<c:cat><c:strRef><c:f>S!$A$2</c:f><c:strCache>${points(labels)}</c:strCache></c:strRef></c:cat>` +
  `<c:val><c:numRef><c:f>S!$B$2</c:f><c:numCache><c:formatCode>${format}</c:formatCode>${points(values)}</c:numCache></c:numRef></c:val></c:ser>`

/** What a chart of a title and series is made of. */
export const chart = (title: string, ...all: readonly string[]): string =>
  `<c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>${title}</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>${all.join('')}</c:barChart></c:plotArea></c:chart>`
