/** A PDF of text pages in Helvetica, one line of text a line, `# ` in front makes a heading in larger letters; null makes a page without text, as a scan's. ASCII only. */
export function makePdf(pages: readonly (readonly string[] | null)[]): Buffer {
  const objects: string[] = []
  const add = (body: string): number => objects.push(body)
  const stream = (content: string): string => `<< /Length ${content.length} >>\nstream\n${content}\nendstream`
  add('<< /Type /Catalog /Pages 2 0 R >>')
  const kids = pages.map((_, i) => `${4 + 2 * i} 0 R`).join(' ')
  add(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`)
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>')
  for (const [i, lines] of pages.entries()) {
    add(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${5 + 2 * i} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`)
    add(stream(lines === null ? '0.9 g 50 50 400 600 re f' : `BT /F1 10 Tf 50 790 Td 14 TL\n${lines.map(shown).join('\n')}\nET`))
  }
  let body = '%PDF-1.4\n'
  const offsets = objects.map((object, i) => {
    const offset = body.length
    body += `${i + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  body += `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`
  return Buffer.from(body, 'latin1')
}

function shown(line: string): string {
  const escaped = (text: string): string => text.replace(/[\\()]/g, '\\$&')
  return line.startsWith('# ') ? `/F1 16 Tf (${escaped(line.slice(2))}) Tj T* /F1 10 Tf T*` : `(${escaped(line)}) Tj T*`
}
