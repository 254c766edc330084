import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { gzipSync } from 'node:zlib'
import { corpusFiles } from '../../src/cli/index/corpus-files.ts'
import { tempDir } from '../index/helpers.ts'

t.test('a file of an unknown kind is a table if its first line may be one of a table', async (t) => {
  const dir = await tempDir(t)
  const kindOf = async (name: string, content: string | Buffer, columns?: string): Promise<string | undefined> => {
    const file = path.join(dir, name)
    await writeFile(file, content)
    const { sources } = await corpusFiles([file], columns === undefined ? {} : { columns })
    return sources[0]?.kind
  }
  for (const [name, content] of [
    ['calls.ics', 'BEGIN:VCALENDAR\nSUMMARY;LANGUAGE=en:Low tide\nEND:VCALENDAR\n'],
    ['feed.xml', '<?xml version="1.0"?>\n<rss><channel><title>Tides, and more</title></channel></rss>\n'],
    ['drawing.svg', '\ufeff<svg style="a:b;c:d"><text>Low, high</text></svg>\n'],
    ['list.mbox', 'From ann@example.org Mon Jan  1 00:00:00 2024\nSubject: Oil, rope\n'],
    ['port.wiki', '= Port =\n{{Infobox|depth=5}}\n'],
    ['letter.rtf', '{\\rtf1\\ansi Hello}'],
  ] as const)
    t.equal(await kindOf(name, content), 'documents', name)
  for (const [name, content] of [
    ['passages.dat', 'id\ttext\n1\tThe bell rings.\n'],
    ['passages.list', '\n\nid;text\n1;The bell rings.\n'],
    ['passages.dump', '{"id": "1", "text": "The bell rings."}\n'],
    ['passages.wide', Buffer.from('\ufeffid\ttext\n1\tThe bell rings.\n', 'utf16le')],
    ['passages.gz', gzipSync('id\ttext\n1\tThe bell rings.\n')],
  ] as const)
    t.equal(await kindOf(name, content), 'table', name)
  t.equal(await kindOf('lines.dat', 'The bell rings.\n', 'text=1'), 'table', 'its columns are named')
})
