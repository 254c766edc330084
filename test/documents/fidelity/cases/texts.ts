import type { FidelityCase } from '../contract.ts'

const latin =
  (text: string): (() => Buffer) =>
  () =>
    Buffer.from(text, 'latin1')
/** Quotation marks, dashes and a currency sign in Windows-1252. */
const QUOTES = Buffer.from('\x93The lamp\x94 burns \x96 it\x92s said\x85 for \x805 a night.', 'latin1')
const mail = (head: string, text: string): string => `From: ann@example.org\r\nSubject: Lamps\r\n${head}\r\n\r\n${text}\r\n`
const GERMAN = 'Die Stra\u00dfe in K\u00f6ln ist sch\u00f6n und f\u00fcr alle da.'
/** "The lamp burns from dusk till dawn, and the watch looks after it." in Windows-1251. */
const RUSSIAN = Buffer.from(
  'cce0ffea20e3eef0e8f220eef220e7e0eae0f2e020e4ee20f0e0f1f1e2e5f2e02c20e7e020ede8ec20f1ebe5e4e8f220e2e0f5f2e02e',
  'hex',
)
const RUSSIAN_SAYS =
  '\u041c\u0430\u044f\u043a \u0433\u043e\u0440\u0438\u0442 \u043e\u0442 \u0437\u0430\u043a\u0430\u0442\u0430 \u0434\u043e \u0440\u0430\u0441\u0441\u0432\u0435\u0442\u0430, \u0437\u0430 \u043d\u0438\u043c \u0441\u043b\u0435\u0434\u0438\u0442 \u0432\u0430\u0445\u0442\u0430.'
const DETECTED = /^The file is not utf-8: it was read as \S+, as detected\./

/** Files that are not UTF-8. */
export const ENCODING_CASES: readonly FidelityCase[] = [
  { file: 'street.txt', content: latin(GERMAN), says: GERMAN, warnings: [DETECTED] },
  { file: 'short.md', content: latin('K\u00f6ln'), says: 'K\u00f6ln', warnings: [DETECTED] },
  { file: 'lamp.txt', content: RUSSIAN, says: RUSSIAN_SAYS, warnings: [DETECTED] },
  { file: 'sent.txt', mediaType: 'text/plain; charset=windows-1251', content: RUSSIAN, says: RUSSIAN_SAYS, warnings: [] },
  {
    file: 'page.html',
    content: () => Buffer.concat([Buffer.from('<meta charset="windows-1251"><p>'), RUSSIAN]),
    says: RUSSIAN_SAYS,
    warnings: [],
  },
  {
    file: 'page.xhtml',
    content: () => Buffer.concat([Buffer.from('<?xml version="1.0" encoding="windows-1251"?><p>'), RUSSIAN]),
    says: RUSSIAN_SAYS,
    warnings: [],
  },
  // Windows-1252, also by its other names.
  {
    file: 'quotes.txt',
    content: Buffer.from('93536d61727494203d208035', 'hex'),
    mediaType: 'text/plain; charset=windows-1252',
    says: '\u201cSmart\u201d = \u20ac5',
    warnings: [],
  },
  {
    file: 'guess.txt',
    content: QUOTES,
    says: '\u201cThe lamp\u201d burns \u2013 it\u2019s said\u2026 for \u20ac5 a night.',
    warnings: [DETECTED],
  },
  {
    file: 'quotes.html',
    content: () => Buffer.concat([Buffer.from('<meta charset="iso-8859-1"><p>'), QUOTES]),
    says: '\u201cThe lamp\u201d burns \u2013 it\u2019s said\u2026 for \u20ac5 a night.',
    warnings: [],
  },
  // Encodings whose letters are those of others: of one language in the right one only.
  {
    file: 'turkish.txt',
    content: Buffer.from('4dfcfe746572693a20446ff0616e204c74642e20de74692e2c2049fefd6b20536f6b2e20352c20dd7a6d6972', 'hex'),
    says: 'M\u00fc\u015fteri: Do\u011fan Ltd. \u015eti., I\u015f\u0131k Sok. 5, \u0130zmir',
    warnings: [DETECTED],
  },
  {
    file: 'ukrainian.txt',
    content: Buffer.from('fbc1cecfd7cea620cbcfccc5c7c92c20c4d1cbd5a4cdcf2c20b4d7c7c5ce', 'hex'),
    says: '\u0428\u0430\u043d\u043e\u0432\u043d\u0456 \u043a\u043e\u043b\u0435\u0433\u0438, \u0434\u044f\u043a\u0443\u0454\u043c\u043e, \u0404\u0432\u0433\u0435\u043d',
    warnings: [DETECTED],
  },
  {
    file: 'dos.txt',
    content: Buffer.from('8ee2e7a5e220a7a020aca0e0e22e2088e2aea3ae3a20313520e8e2e3aa', 'hex'),
    says: '\u041e\u0442\u0447\u0435\u0442 \u0437\u0430 \u043c\u0430\u0440\u0442. \u0418\u0442\u043e\u0433\u043e: 15 \u0448\u0442\u0443\u043a',
    warnings: [DETECTED],
  },
  {
    file: 'list.txt',
    content: Buffer.from('496e766f6963652031352c204f4f4f2022d0eeece0f8eae0222c2032303020455552', 'hex'),
    says: 'Invoice 15, OOO "\u0420\u043e\u043c\u0430\u0448\u043a\u0430", 200 EUR',
    warnings: [DETECTED],
  },
  {
    file: 'latvian.txt',
    content: Buffer.from(
      '4cee67756d73206e6f736ce76774733a20ee726e69656b616d206ae26d616b73e22c20ec696d656e652c20f2656d742c20f0ede7726573',
      'hex',
    ),
    says: 'L\u012bgums nosl\u0113gts: \u012brniekam j\u0101maks\u0101, \u0123imene, \u0146emt, \u0161\u0137\u0113res',
    warnings: [DETECTED],
  },
  {
    file: 'macintosh.txt',
    content: Buffer.from('4974d573206120d271756f746564d3206361668e20d120728e73756d8e', 'hex'),
    says: 'It\u2019s a \u201cquoted\u201d caf\u00e9 \u2014 r\u00e9sum\u00e9',
    warnings: [DETECTED],
  },
  {
    file: 'names.txt',
    content: Buffer.from('4a6f73e92c204672616ee76f69732c204dfc6c6c65722c20c573612c204a6fe36f20616e6420746865206e61ef7665', 'hex'),
    says: 'Jos\u00e9, Fran\u00e7ois, M\u00fcller, \u00c5sa, Jo\u00e3o and the na\u00efve',
    warnings: [DETECTED],
  },
  // Encodings that are named wrongly.
  {
    file: 'wrong.html',
    content: `<meta charset="iso-8859-1"><p>${GERMAN}`,
    says: GERMAN,
    warnings: [/^The file names iso-8859-1 as its encoding, but is utf-8/],
  },
  { file: 'wrong.txt', mediaType: 'text/plain; charset=us-ascii', content: GERMAN, says: GERMAN, warnings: [/^The file names us-ascii/] },
  {
    file: 'wrong.eml',
    content: mail('Content-Type: text/plain; charset=us-ascii', GERMAN),
    says: `From: ann@example.org ${GERMAN}`,
    warnings: [/^The text of the e-mail is utf-8/],
  },
  { file: 'bare.eml', content: latin(mail('X-Mailer: old', GERMAN)), says: `From: ann@example.org ${GERMAN}`, warnings: [DETECTED] },
  {
    file: 'lost.eml',
    content: mail('Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable', 'K=F6ln'),
    has: ['K\ufffdln'],
    warnings: [/^Letters of the e-mail are lost/],
  },
  {
    file: 'cut.eml',
    content: 'Content-Type: multipart/mixed; boundary="a b"\r\n\r\n--a b\r\nContent-Type: text/plain\r\n\r\nThe lamp is',
    says: 'The lamp is',
    warnings: [/^The e-mail has no end: it may be incomplete\.$/],
  },
  { file: 'wide.txt', content: Buffer.from(GERMAN, 'utf16le'), says: GERMAN, warnings: [/read as utf-16le/] },
  { file: 'composed.txt', content: 'A cafe\u0301 in Ko\u0308ln.', joined: 'A caf\u00e9 in K\u00f6ln.', warnings: [] },
  { file: 'composed.md', content: '# Cafe\u0301\n\n- Ko\u0308ln\n', joined: '- K\u00f6ln', title: 'Caf\u00e9' },
]

/** Texts of further kinds. */
export const TEXT_KINDS: readonly FidelityCase[] = [
  { file: 'README', content: 'Read me\n\nFill the lamp with oil.\n', has: ['Fill the lamp with oil.'] },
  { file: 'README.Debian', content: 'Fill the lamp with oil.\n', says: 'Fill the lamp with oil.' },
  {
    file: 'lamp.rst',
    content:
      'Lamp\n====\n\nIt burns *oil*, 5 != 6.\n\n.. _anchor:\n\nFilling\n-------\n\n.. code-block:: sh\n\n   fill --now\n\nThen light it.\n\n===== =====\nKind  Hours\n===== =====\nold   7\n===== =====\n',
    title: 'Lamp',
    says: 'It burns *oil*, 5 != 6. [Filling] fill --now Then light it. Kind: old; Hours: 7',
  },
  {
    file: 'lamp.org',
    content:
      '* Lamp :tag:\n:PROPERTIES:\n:CUSTOM_ID: l\n:END:\nIt burns.\n** Hours\n| Kind | Hours |\n|------+-------|\n| old | 7 |\n| new | 7 |\n#+begin_src sh\n* fill\n#+end_src\n- one\n- two\n',
    title: 'Lamp',
    says: 'It burns. [Hours] Kind: old; Hours: 7 Kind: new; Hours: 7 * fill - one - two',
  },
  {
    file: 'lamp.adoc',
    content: '= Lamp\n:toc:\n\nIt burns.\n\n== Filling\n\n[source,sh]\n----\nfill == now\n----\n\n// comment\nThen light it.\n',
    title: 'Lamp',
    says: 'It burns. [Filling] fill == now Then light it.',
    lacks: ['comment', ':toc:'],
  },
  {
    file: 'lamp.tex',
    content:
      '\\documentclass{article}\n\\usepackage{x}\n\\title{Lamps}\n\\begin{document}\n\\maketitle\n\\section{Oil}\nIt burns $a != b$.\n% comment\n\\begin{itemize}\n\\item fill\n\\item light\n\\end{itemize}\n\\begin{verbatim}\n  \\item raw\n\\end{verbatim}\n\\end{document}\n',
    title: 'Lamps',
    says: '[Oil] It burns $a != b$. - fill - light \\item raw',
    lacks: ['comment', 'usepackage'],
  },
  {
    file: 'lamp.log',
    content: '12:01 ERROR no oil\n  at fill\n\n12:02 INFO lit\n',
    lines: ['12:01 ERROR no oil', '  at fill', '12:02 INFO lit'],
  },
  { file: 'lamp.py', content: 'def fill(oil):\n    # five\n    return oil != 5\n\n\nfill(3)\n', lines: ['    return oil != 5', 'fill(3)'] },
  { file: 'Makefile', content: 'all: lamp\n\tfill lamp\n', lines: ['\tfill lamp'] },
  {
    file: 'lamp.ipynb',
    content: JSON.stringify({
      nbformat: 4,
      cells: [
        { cell_type: 'markdown', source: ['# Lamp\n', 'It burns.\n', '\n', '| a | b |\n', '|-|-|\n', '| 1 | 2 | 3 |'] },
        {
          cell_type: 'code',
          source: 'print(6)',
          outputs: [
            { output_type: 'stream', text: ['6\n'] },
            { output_type: 'display_data', data: { 'image/png': 'AAAA' } },
          ],
        },
      ],
    }),
    title: 'Lamp',
    says: 'It burns. a: 1; b: 2 print(6) 6',
    warnings: [/^Not read: images in outputs \(1\)\.$/, /^Not read: cells beyond the columns of a table \(1\)\.$/],
  },
  {
    file: 'talk.vtt',
    content:
      'WEBVTT\n\nNOTE inner\n\n1\n00:00:01.000 --> 00:00:02.000\n<v Ann>The lamp burns\n\n00:02.000 --> 00:03.000\n<i>oil</i> &amp; wax.\n\n00:03.000 --> 00:04.000\nIt is lit.\n',
    says: 'Ann: The lamp burns oil & wax. It is lit.',
  },
  {
    file: 'talk.srt',
    content: '1\r\n00:00:01,000 --> 00:00:02,000\r\nThe lamp burns 12\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\nhours.\r\n',
    says: 'The lamp burns 12 hours.',
  },
  {
    file: 'mail.eml',
    content: [
      'From: Ann Berg <ann@example.org>',
      'To: bo@example.org',
      'Subject: =?iso-8859-1?Q?K=F6ge?= ferry',
      'Date: Tue, 3 Feb 2026 10:00:00 +0100',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=iso-8859-1',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'It leaves K=F6ge at six.',
      '--b',
      'Content-Type: application/pdf',
      'Content-Disposition: attachment; filename=plan.pdf',
      '',
      'x',
      '--b--',
      '',
    ].join('\r\n'),
    title: 'K\u00f6ge ferry',
    says: 'From: Ann Berg <ann@example.org> To: bo@example.org Date: Tue, 3 Feb 2026 10:00:00 +0100 It leaves K\u00f6ge at six.',
    warnings: [/^Attachments were not read: plan\.pdf\.$/],
  },
  {
    file: 'page.eml',
    content:
      'From: ann@example.org\r\nSubject: Lamps\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>It burns <b>oil</b>, 10<sup>6</sup> hours.</p>\r\n',
    says: 'From: ann@example.org It burns oil, 10^6 hours.',
  },
  // The plain text of a message may only refer to its HTML, which has no menus or footers of a site.
  {
    file: 'stub.eml',
    content: mail(
      'Content-Type: multipart/alternative; boundary=b',
      '--b\r\nContent-Type: text/plain\r\n\r\nSee the HTML.\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Your bill is 12 crowns for the lamp oil of May.</p><footer>Ann Ltd, <a href=x>Pier 4</a></footer>\r\n--b--',
    ),
    says: 'From: ann@example.org Your bill is 12 crowns for the lamp oil of May. Ann Ltd, Pier 4',
    warnings: [/^Words of the plain text that the HTML lacks were left out: See, HTML\.$/],
  },
  {
    file: 'report.eml',
    content: mail(
      'To: Team: Bo <bo@example.org>, cy@example.org;, nobody:;\r\nContent-Type: multipart/report; boundary=b',
      '--b\r\n\r\nNot delivered.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nStatus: 5\r\n--b--',
    ),
    says: 'From: ann@example.org To: Team: Bo <bo@example.org>, cy@example.org, nobody Not delivered.',
    warnings: [/^Attachments were not read: message\/delivery-status\.$/],
  },
  {
    file: 'enclosed.eml',
    content: mail(
      'Content-Type: multipart/mixed; boundary=b',
      `--b\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n--b\r\nContent-Type: message/rfc822\r\nContent-Disposition: attachment; filename=old.eml\r\n\r\nFrom: bo@example.org\r\nSubject: Oil\r\nDate: Mon, 2 Feb 2026 10:00:00 +0100\r\n\r\nNo oil left.\r\n--b--`,
    ),
    says: 'From: ann@example.org See below. [Oil] From: bo@example.org Date: Mon, 2 Feb 2026 10:00:00 +0100 No oil left.',
    warnings: [],
  },
  // Outputs whose plain text names only what is shown; columns keep their places.
  {
    file: 'displayed.ipynb',
    content: JSON.stringify({
      nbformat: 4,
      cells: [
        {
          cell_type: 'code',
          source: 'crew',
          outputs: [
            { output_type: 'execute_result', data: { 'text/plain': ['   name  age\n', '0  Ann    31'], 'text/html': '<p>not twice</p>' } },
            {
              output_type: 'display_data',
              data: { 'text/plain': '<IPython.core.display.Markdown object>', 'text/markdown': 'All **well**' },
            },
            {
              output_type: 'display_data',
              data: { 'text/plain': ['<IPython.core.display.HTML object>'], 'text/html': ['<p>No ', 'oil</p>'] },
            },
            {
              output_type: 'display_data',
              data: {
                'text/plain': '<pandas.io.formats.style.Styler at 0x7f3a>',
                'text/html': '<style>td{}</style><table><tr><th></th><th>fee</th></tr><tr><th>tug</th><td>7</td></tr></table>',
              },
            },
          ],
        },
      ],
    }),
    has: ['crew', '   name  age\n0  Ann    31\nAll **well**\nNo oil\ntug; fee: 7'],
    lacks: ['twice', 'object', 'Styler'],
    warnings: [],
  },
  {
    file: 'outputs.ipynb',
    content: JSON.stringify({
      nbformat: 4,
      cells: [
        {
          cell_type: 'code',
          source: 'show()',
          outputs: [
            { output_type: 'display_data', data: { 'text/markdown': 'shown' } },
            { output_type: 'display_data', data: { 'text/html': '<script>draw(5)</script>' } },
            { output_type: 'stream', text: '\u001b[31mred\u001b[0m\n 50% 5/10\r100% 10/10\r\nend\r' },
          ],
        },
      ],
    }),
    says: 'show() shown red 100% 10/10 end',
    warnings: [/^Not read: outputs without text \(1\)\.$/],
  },
  // Messages of a chat and entries of a log, of which some have several lines.
  {
    file: 'chat.txt',
    content:
      '[12/03/2024, 09:15:02] Ann Berg: Lunch at 12:30?\n[12/03/2024, 09:15:40] Bo: Yes,\nsee you there\n\u200e[12/03/2024, 09:16:10] Ann Berg: \u200eimage omitted, \ufb01ne, not \ufb01\n12.03.24, 09:17 - Cy: It costs 5 crowns\n\n' +
      '2024-05-01 07:00 lamp lit\n2024-05-01T19:00:30 lamp out\n\nIt was lit on\n2024-05-01 07:00 and\n2024-05-02 07:10.\n',
    lines: [
      '[12/03/2024, 09:15:02] Ann Berg: Lunch at 12:30?',
      '[12/03/2024, 09:15:40] Bo: Yes, see you there',
      '\u200e[12/03/2024, 09:16:10] Ann Berg: \u200eimage omitted, fine, not \ufb01',
      '12.03.24, 09:17 - Cy: It costs 5 crowns',
      '2024-05-01 07:00 lamp lit',
      '2024-05-01T19:00:30 lamp out',
      'It was lit on 2024-05-01 07:00 and 2024-05-02 07:10.',
    ],
  },
  {
    file: 'entities.srt',
    content: '1\n00:00:01,000 --> 00:00:02,000\n<i>It&#39;s 5 < 6 &amp; 7</i>\n',
    says: "It's 5 < 6 & 7",
  },
  // Times of words, words in angle brackets, and how a word is read.
  {
    file: 'words.vtt',
    content:
      'WEBVTT\n\n00:00:00.160 --> 00:00:02.000\nthe<00:00:00.320><c> lamp</c><00:00:00.480><c.yellow> burns</c>\n\n00:02.000 --> 00:03.000\n<i>for <name>.</i>\n\n00:04.000 --> 00:05.000\nIn <ruby>\u6e2f<rt>minato</rt></ruby>.\n',
    says: 'the lamp burns for <name>. In \u6e2f(minato).',
  },
  // Captions that roll up: each repeats the lines of the one before; later, the same is said again.
  {
    file: 'rolling.vtt',
    content:
      'WEBVTT\nKind: captions\n\n00:00:00.160 --> 00:00:02.000 align:start\n \nthe<00:00:00.320><c> lamp</c><00:00:00.480><c> burns</c>\n\n00:00:02.000 --> 00:00:02.010\nthe lamp burns\n \n\n' +
      '00:00:02.010 --> 00:00:04.000\nthe lamp burns\nall<00:00:02.320><c> night.</c>\n\n00:00:04.000 --> 00:00:04.010\nall night.\n \n\n00:00:09.010 --> 00:00:12.000\nall night.\n',
    says: 'the lamp burns all night. all night.',
  },
  // Blank lines with spaces, none at all, and one in a cue.
  {
    file: 'loose.srt',
    content:
      '1\n00:00:01,000 --> 00:00:02,000\nThe lamp\n \n2\n00:00:02,500 --> 00:00:03,000\nburns\n3\n00:00:03,500 --> 00:00:04,000\n12 hours.\n\nThen it is out.\n\n\n4\n\n00:00:05,000 --> 00:00:06,000\nDark.\n',
    says: 'The lamp burns 12 hours. Then it is out. Dark.',
  },
  // Text that is what its e-mail says is not read as another encoding, although it could be.
  {
    file: 'signs.eml',
    content: mail(
      'MIME-Version: 1.0\r\nContent-Type: text/plain;\r\n charset="UTF-8"',
      'The signs \u00c3\u00a9 stand for a letter, \u00c2\u00a9 for a mark.',
    ),
    says: 'From: ann@example.org The signs \u00c3\u00a9 stand for a letter, \u00c2\u00a9 for a mark.',
    warnings: [],
  },
  {
    file: 'flowed.eml',
    content: mail(
      'MIME-Version: 1.0\r\nContent-Type: text/plain; format=flowed; delsp=yes',
      'The lamp bu \r\nrns  \r\nall night.\r\nIt is lit.',
    ),
    says: 'From: ann@example.org The lamp burns all night. It is lit.',
    warnings: [],
  },
  {
    file: 'copies.eml',
    content: mail('Cc: bo@example.org\r\nBcc: cy@example.org', 'It is lit.'),
    says: 'From: ann@example.org Cc: bo@example.org Bcc: cy@example.org It is lit.',
  },
  // Marks of quotes stand once before each paragraph of a quote, also where its lines flow.
  {
    file: 'quoted.eml',
    content: mail(
      'MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8',
      'No.\r\n\r\nBo wrote:\r\n> The lamp is\r\n> out, 5 > 3.\r\n>\r\n> The wick\r\n> too.\r\n>> Which\r\n>> lamp?\r\nThe old one.',
    ),
    says: 'From: ann@example.org No. Bo wrote: > The lamp is out, 5 > 3. > The wick too. >> Which lamp? The old one.',
  },
  ...['', '; delsp=yes'].flatMap((delsp) =>
    [false, true].map((isEncoded) => {
      const space = `${delsp === '' ? '' : ' '}${isEncoded ? '=20' : ' '}`
      return {
        file: `flowed-quote${delsp}${isEncoded ? '-qp' : ''}.eml`,
        content: mail(
          `MIME-Version: 1.0\r\nContent-Type: text/plain; format=flowed${delsp}${isEncoded ? '\r\nContent-Transfer-Encoding: quoted-printable' : ''}`,
          `> The lamp is${space}\r\n> out and${space}\r\n> dark.\r\nI light${space}\r\nit.`,
        ),
        says: 'From: ann@example.org > The lamp is out and dark. I light it.',
      }
    }),
  ),
  // The HTML of a message is read where it says more than the plain text.
  {
    file: 'more.eml',
    content: mail(
      'Content-Type: multipart/alternative; boundary=b',
      '--b\r\nContent-Type: text/plain\r\n\r\nYour order of three lamps. Total: 45 crowns, not 54. https://example.org/lamps\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Your order of three lamps.</p><p>Total: 45 crowns.</p><p>Delivery: 5 June</p>\r\n--b--',
    ),
    says: 'From: ann@example.org Your order of three lamps. Total: 45 crowns. Delivery: 5 June',
    warnings: [/left out: not, 54\.$/],
  },
  // Formulas in the line of their mark; admonitions and who is quoted.
  {
    file: 'formulas.rst',
    content: 'Area\n====\n\nIt is\n\n.. math:: A = b^2\n\nand\n\n.. math::\n\n   c = 7\n\nwide.\n',
    says: 'It is A = b^2 and c = 7 wide.',
  },
  // Names of columns without values.
  {
    file: 'unused-names.md',
    content: '| Task | Owner | Hours |\n|---|---|---|\n| Paint | | 3 |\n| Saw | | 4 |\n',
    says: 'Task: Paint; Owner:; Hours: 3 Task: Saw; Hours: 4',
  },
  {
    file: 'unused-names.rst',
    content:
      '===== ===== =====\nTask  Owner Hours\n===== ===== =====\nPaint       3\nSaw         4\n===== ===== =====\n\n' +
      '.. list-table::\n   :header-rows: 1\n\n   * - Boat\n     - Berth\n     - Fee\n   * - Raft\n     -\n     - 7\n',
    says: 'Task: Paint; Owner:; Hours: 3 Task: Saw; Hours: 4 Boat: Raft; Berth:; Fee: 7',
  },
  {
    file: 'unused-names.adoc',
    content: '== Work\n\n[options="header"]\n|===\n|Task |Owner |Hours\n|Paint | |3\n|===\n',
    lines: ['Task: Paint; Owner:; Hours: 3'],
  },
  {
    file: 'unused-names.org',
    content: '* Work\n| Task | Owner | Hours |\n|---+---+---|\n| Paint | | 3 |\n',
    lines: ['Task: Paint; Owner:; Hours: 3'],
  },
  {
    file: 'unused-names.tex',
    content: '\\begin{tabular}{lll}Task & Owner & Hours \\\\ \\hline Paint & & 3 \\\\ \\end{tabular}',
    lines: ['Task: Paint; Owner:; Hours: 3'],
  },
  {
    file: 'unused-names.txt',
    content:
      '+-------+-------+-------+\n| Task  | Owner | Hours |\n+-------+-------+-------+\n| Paint |       | 3     |\n+-------+-------+-------+\n',
    says: 'Task: Paint; Owner:; Hours: 3',
  },
  {
    file: 'quoted.adoc',
    content:
      '= Lamp\n\n[quote, Ann Berg]\n____\nIt burns.\n____\n\n[WARNING]\n====\nKeep your hands away.\n====\n\n[source,sh]\n----\nfill\n----\n',
    says: '[quote, Ann Berg] It burns. [WARNING] Keep your hands away. fill',
  },
  // Comments of several lines; a listing ends where its own mark does.
  {
    file: 'comments.adoc',
    content: '= Lamp\n\nIt burns.\n\n////\nsecret\n----\n////\n\n----\n---\nfill\n----\n\nOil.\n',
    says: 'It burns. --- fill Oil.',
  },
  // A comment of two dots alone ends with its line, where a blank one follows; more dots begin a text.
  {
    file: 'empty-comment.rst',
    content:
      'Lamp\n====\n\nThe watch says:\n\n..\n\n   The lamp burns until dawn.\n\n..\n   secret\n\n   secret, too\n\nThen::\n\n   light it\n\n... and look after it like this::\n\n   fill it\n',
    says: 'The watch says: The lamp burns until dawn. Then: light it ... and look after it like this: fill it',
  },
  { file: 'comments.org', content: '* Lamp\nIt burns.\n#+begin_comment\nsecret\n#+end_comment\nOil.\n', says: 'It burns. Oil.' },
  {
    file: 'comments.tex',
    content:
      '\\begin{document}\nIt burns.\n\\begin{comment}\nsecret\n\\end{verbatim}\n\\end{comment}\n\\begin{lstlisting}[language=TeX]\n\\end{verbatim}\n\\end{lstlisting}\nOil.\n\\end{document}\n',
    says: 'It burns. \\end{verbatim} Oil.',
  },
  // Lists of LaTeX on one line, and a title on several.
  {
    file: 'line.tex',
    content:
      '\\documentclass{article} \\title{Oil\n \\emph{lamps}}\n% \\title{Old}\n\\begin{document}\nBuy: \\begin{itemize}[a]\\item oil \\item wick\\end{itemize} Then light it.\n\\end{document}\n',
    title: 'Oil lamps',
    says: 'Buy: - oil - wick Then light it.',
    lacks: ['Old'],
  },
  // What a document defines stands for its name, but not in a listing.
  // A table whose cells span others is read line by line; a title is no part of a list.
  {
    file: 'spans.adoc',
    content:
      '= Fees\n\n.Boats\n* Raft\n* Tug\n\n|===\n|Boat |Day |Fee\n.2+|Raft |May |7\n|June |9\n2+|All boats |8\n|===\ninclude::more.adoc[]\n',
    lines: ['Boats', '- Raft', '- Tug', 'Boat Day Fee', 'Raft May 7', 'June 9', 'All boats 8'],
    warnings: [/^Not read: columns of tables with cells that span others \(1\)\.$/, /^Not read: included files \(1\)\.$/],
  },
  {
    file: 'macros.org',
    content: '#+MACRO: oil 25 l\n#+MACRO: two $1 and $2\n* Lamp\nIt burns {{{oil}}} and {{{two(a,b)}}}.\n#+INCLUDE: "more.org"\n',
    says: 'It burns 25 l and {{{two(a,b)}}}.',
    warnings: [/^Not read: included files \(1\)\.$/],
  },
  {
    file: 'tables.tex',
    content:
      '\\section{Fees}\n\\begin{longtable}{lr}\nRaft & 5 \\\\\n\\end{longtable}\n\\begin{tabular*}{lr}\nTug & 7 \\\\\n\\end{tabular*}\n\\input{more}\n',
    lines: ['Raft: 5', 'Tug: 7'],
    warnings: [/^Not read: included files \(1\)\.$/],
  },
  {
    file: 'names.tex',
    content: String.raw`\section{Pumps \& valves}
Flow is in Table~\ref{t}: \textbf{5\,\%} at \emph{most \texttt{x\_y}}.
\begin{table}[ht]\centering
\caption{Flow by \emph{pump}.}
\begin{tabular}{l@{ }rr}
\toprule
& \multicolumn{2}{c}{Flow} \\ \cmidrule(lr){2-3}
Pump & May & June \\
\midrule
A12 & 10.5 & \textbf{11} \\[2pt] % checked
\multirow{2}{*}{B7} & 12 & R\&D \\
 & 13 & \begin{tabular}[c]{@{}l@{}}none\\ yet\end{tabular} \\
\midrule
\multicolumn{2}{l}{total} & 7 \\
\bottomrule
\end{tabular}
\end{table}
\begin{longtable}{|l|c|}
\caption{Fees.}\tabularnewline
\hline Name & Fee \\ \hline \endfirsthead
\hline Name & Fee (continued) \\ \hline \endhead
\multicolumn{2}{r}{Continues} \\ \endfoot
Raft & \$5 \\
Tug & 7 \tabularnewline
Punt & \{3\} \\ \hline
\end{longtable} After it.
\begin{tabular}{ll} one & two \\ three & four \end{tabular}
\begin{tabular}{l} open`,
    says: String.raw`Flow is in Table \ref{t}: 5 % at most x_y. Flow by pump.
Pump: A12; Flow May: 10.5; Flow June: 11
Pump: B7; Flow May: 12; Flow June: R&D
Pump: B7; Flow May: 13; Flow June: none yet
total; Flow June: 7
Fees. Name: Raft; Fee: $5 Name: Tug; Fee: 7 Name: Punt; Fee: \{3\} After it.
one: two three: four \begin{tabular}{l} open`,
    warnings: [],
  },
  {
    file: 'cells.tex',
    content: String.raw`Side: \begin{tabular}{lr} Name & Oil \\ \hline A & 1 \\ B & 2 \end{tabular} and \begin{tabular}{lr}
Name & Fee \\ \hline
\verb|x & y % z| & $\begin{cases}1 & x>0\\0 & y\end{cases}$ \\ %\begin{tabular}{l}
\makecell{two\\ lines} & {7} \\
\begin{tabular}{l}R\&D \\ team\end{tabular} & 8
\end{tabular} end.
\begin{tabular}{lr}
Lamp & Hours \\
a & 1 \\
\rowcolor{gray} b & 2 \\
c & 3 \\
d & 4 \\
\end{tabular}`,
    says: String.raw`Side: Name: A; Oil: 1 Name: B; Oil: 2 and
Name: x & y % z; Fee: $\begin{cases}1 x>0 0 y\end{cases}$
Name: two lines; Fee: 7
Name: R&D team; Fee: 8 end.
Lamp: Hours a: 1 b: 2 c: 3 d: 4`,
    warnings: [],
  },
  {
    file: 'long.tex',
    content: `\\begin{longtable}{lr}\nName & Oil \\\\ \\hline\n${'a & 1 \\\\\n'.repeat(12_000)}\\end{longtable}\n`,
    says: Array<string>(12_000).fill('Name: a; Oil: 1').join(' '),
  },
  // Files that took minutes, or more.
  { file: 'lengths.tex', content: `${String.raw`\setlength{a}{b}`.repeat(40)}x\n`, says: String.raw`\setlength{a}{b}`.repeat(40) + 'x' },
  { file: 'open.tex', content: '\\begin{tabular}{l}\n'.repeat(20_000), says: '\\begin{tabular}{l} '.repeat(20_000).trim() },
  { file: 'blank.rst', content: `a b\n${'\n'.repeat(200_000)}c\n`, says: 'a b c' },
  { file: 'times.mbox', content: `From a@b.org ${'12:34 '.repeat(100_000)}\n\nTie it.\n`, says: 'Tie it.' },
  {
    file: 'ways.mbox',
    content: [
      '\ufeff\n',
      'From a@b.org Mon Jan  1 09:30:00 2024\nSubject: Oil\n\nFill it.\n\nFrom Quay to port 12:30\nTicket: 5 euro\n\n',
      'From a@b.org Mon Jan  1 09:30:00 2024\nSubject: Bad\n',
      ...Array.from({ length: 60 }, (_, i) => `Content-Type: multipart/mixed; boundary="b${i}"\n\n--b${i}\n`),
      '\n\nFrom - Tue Jan 02 09:30:00 2024\nSubject: Rope\n\nTie it.\n',
    ].join(''),
    says: '[Oil] Fill it. From Quay to port 12:30 Ticket: 5 euro [Rope] Tie it.',
    warnings: [/^Not read: damaged e-mails of the mailbox \(1\)\.$/],
  },
  {
    file: 'admonitions.rst',
    content: 'Pump\n====\n\n.. note:: Stop it.\n   Then wait.\n\n.. warning::\n\n   Hot surface.\n\n- oil\n\n  .. tip:: Use more.\n',
    says: 'Note: Stop it. Then wait. Warning: Hot surface. - oil Tip: Use more.',
  },
  {
    file: 'settings.xml',
    content: latin('<?xml version="1.0" encoding="iso-8859-1"?>\n<pump bar="4">Größe</pump>\n'),
    says: '<?xml version="1.0" encoding="iso-8859-1"?> <pump bar="4">Größe</pump>',
    warnings: [],
  },
  // Mailboxes: several e-mails, one, and a line of a text that looks like the line before an e-mail.
  {
    file: 'two.mbox',
    content:
      'From ann@example.org Fri May 31 14:30:00 2024\nFrom: ann@example.org\nSubject: Oil\nContent-Type: text/html\n\n<h1>Lamp</h1><p>It burns.\n\n' +
      'From 17@xxx Fri May 31 15:30:00 +0000 2024\r\nFrom: bob@example.org\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\nFrom May 1 at 10:00:\r\n>From here on.\r\n>>From there.\r\n',
    says: '[Oil] From: ann@example.org [Oil > Lamp] It burns. [] From: bob@example.org From May 1 at 10:00: From here on. >From there.',
    warnings: [],
  },
  {
    file: 'one.mbox',
    content: 'From ann@example.org Fri May 31 14:30:00 2024\nFrom: ann@example.org\nSubject: Oil\n\nIt burns.\n',
    says: 'From: ann@example.org It burns.',
    title: 'Oil',
  },
  {
    file: 'tables-in-directives.rst',
    content: `Sweets
======

.. list-table:: Frozen *delights*
   in summer
   :widths: 15 10 30
   :header-rows: 1

   * - Treat
     - Price
     - Description
   * - Albatross
     - 2.99
     - On a stick!
   * - \`\`Frog\`\`
     -
     - Without bones, it would not be
       crunchy.

       - Really.

.. csv-table:: Prices
   :header: "Name", "Price", "Note"

   "Eggs", 2.50, "a dozen, brown"
   "Ham, smoked", 3.10, sliced

.. csv-table::
   :delim: tab
   :header-rows: 1

   Tea\tCups
   Black\t3
   Green\t4
.. csv-table:: Others
   :file: others.csv

.. table:: Truth
   :widths: auto

   =====  =====
   A      not A
   =====  =====
   False  True
   =====  =====
`,
    says: `Frozen *delights* in summer Treat: Albatross; Price: 2.99; Description: On a stick!
Treat: \`\`Frog\`\`; Description: Without bones, it would not be crunchy. - Really.
Prices Name: Eggs; Price: 2.50; Note: a dozen, brown Name: Ham, smoked; Price: 3.10; Note: sliced
Tea: Black; Cups: 3 Tea: Green; Cups: 4 Others Truth A: False; not A: True`,
    warnings: [/^Not read: included files \(1\)\.$/],
  },
  {
    file: 'included.rst',
    content: 'Lamp\n====\n\nIt burns.\n\n.. include:: more.rst\n',
    has: ['It burns.'],
    warnings: [/^Not read: included files \(1\)\.$/],
  },
  // Tables of other formats; lists whose numbers fall.
  {
    file: 'formats.adoc',
    content:
      '[%header,format=csv]\n|===\nBoat,Fee,From\nRaft,"10,50",May\n"Tug, big",20,\n|===\n\n,===\nBoat,Fee,Day\n\nYacht,30,4\n,===\n\n[%header,format=dsv]\n|===\nName:Age:Of\nAnn:7:Ayr\n|===\n\n[%header,separator=!]\n|===\n!Oil !Wick | hemp !Use\n!whale !wool !lamp\n|===\n\n[%reversed]\n. third\n. second\n\n. first\n\nThen:\n\n[%reversed,start=9]\n. nine\n. eight\n',
    lines: [
      'Boat: Raft; Fee: 10,50; From: May',
      'Boat: Tug, big; Fee: 20',
      'Boat: Yacht; Fee: 30; Day: 4',
      'Name: Ann; Age: 7; Of: Ayr',
      'Oil: whale; Wick | hemp: wool; Use: lamp',
      '3. third',
      '2. second',
      '1. first',
      '9. nine',
      '8. eight',
    ],
  },
  // A session of Python ends with a blank line.
  {
    file: 'session.rst',
    content: 'Lamps\n=====\n\nCall it:\n\n>>> def lit(lamp):\n...     return lamp\n>>> lit(7)\n7\n\nIt burns.\n',
    has: ['Call it:\n>>> def lit(lamp):\n...     return lamp\n>>> lit(7)\n7\n'],
  },
  {
    file: 'letters.rst',
    content: 'Lists\n=====\n\na. oil\nb. wick\n   of wool\nc. glass\n\nI. one\nII. two\n\nA. Berg was a\nC. Ravn too.\n',
    lines: ['a. oil', 'b. wick of wool', 'c. glass', 'I. one', 'II. two', 'A. Berg was a C. Ravn too.'],
  },
  {
    file: 'defined.adoc',
    content: '= {name} guide\nAnn Berg\n:name: Lampo\n:full-name: {name} 3\n\nThe {full-name} burns {oil}.\n\n----\n{name}\n----\n',
    title: 'Lampo guide',
    says: 'Ann Berg The Lampo 3 burns {oil}. {name}',
  },
  {
    file: 'defined.tex',
    content:
      '\\documentclass{article}\n\\newcommand{\\lamp}{Lampo \\emph{3}}\n\\newcommand{\\two}[1]{#1}\n\\begin{document}\nThe \\lamp{} burns 5\\,\\% % of old oil\nof \\lampoil at \\url{a%20b}.\n\\end{document}\nnotes\n',
    says: 'The Lampo 3 burns 5 % of \\lampoil at \\url{a%20b}.',
  },
  // A block in rules of the length of its mark is no heading; headings are underlined.
  {
    file: 'admonished.adoc',
    content:
      'The lamp\n========\n\nFuel\n----\n\nWhale oil.\n\n[NOTE]\n====\nLit.\n====\n\nWick\n~~~~\n\n----\nfill\n----\n\n[TIP]\n====\nCotton.\n====\n',
    title: 'The lamp',
    says: '[Fuel] Whale oil. [NOTE] Lit. [Fuel > Wick] fill [TIP] Cotton.',
  },
  // Tables whose cells are a line each.
  {
    file: 'cells.adoc',
    content:
      'Fees:\n\n[cols="1,>2,a",options="header"]\n|===\n|Boat |Fee |Days\n\n|Raft\n|7 a\\|b\n|1\n\n|Tug\n|9\na|2\n|===\n\n|===\n|Sum |16\n\n2+|none\n|===\n',
    lines: ['Boat: Raft; Fee: 7 a|b; Days: 1', 'Boat: Tug; Fee: 9; Days: 2', 'Sum 16', 'none'],
  },
  // Titles of documents stand above their headings.
  {
    file: 'titled.tex',
    content:
      '\\documentclass{report}\n\\title[Fees]{Harbour fees}\n\\subtitle{Of May}\n\\begin{document}\n\\part{Quay}\nIt costs 5.\n\\part{Mole}\nIt costs 7.\n\\end{document}\n',
    title: 'Harbour fees',
    says: '\\subtitle{Of May} [Quay] It costs 5. [Mole] It costs 7.',
  },
  {
    file: 'titled.org',
    content: '#+TITLE: Harbour fees\n#+AUTHOR: Ann Berg\n* Quay\nIt costs 5.\n* Mole\nIt costs 7.\n',
    title: 'Harbour fees',
    says: '#+AUTHOR: Ann Berg [Quay] It costs 5. [Mole] It costs 7.',
    warnings: [],
  },
  // Items have the numbers that the document shows, and the indentation of the lists that they are in.
  {
    file: 'items.rst',
    content:
      'Rules\n=====\n\n#. pay\n#. moor:\n\n   - bow\n\n     with a rope\n   - stern\n\n#. leave\n\nThen:\n\n#. one\n#. two\n\n3. three\n#. four\n',
    lines: ['1. pay', '2. moor:', '  - bow with a rope', '  - stern', '3. leave', '1. one', '2. two', '3. three', '4. four'],
    warnings: [],
  },
  {
    file: 'items.adoc',
    content:
      '= Rules\n\n. pay\n. moor\n+\nat the quay\n.. bow\n.. stern\n* rope\n. leave\n\nThen:\n\n. one\n\n[start=4]\n. four\n\nEnd.\n\n[start=7]\n. seven\n',
    lines: ['1. pay', '2. moor at the quay', '  a. bow', '  b. stern', '    - rope', '3. leave', '1. one', '4. four', '7. seven'],
    warnings: [],
  },
  // Lists of Org need no blank lines around them, and a rule is no mark of a heading.
  {
    file: 'items.org',
    content:
      '* Lamp\nBuy these\n- rope\n  of hemp\n  1. two\n  2. three\n- [X] oil\nThen go home - it is\nlate.\n-----\nThe end\n1) aye\n2) nay\n-----\nEnd of it\n',
    lines: [
      'Buy these',
      '- rope of hemp',
      '  1. two',
      '  2. three',
      '- [X] oil',
      'Then go home - it is late. The end',
      '1) aye',
      '2) nay',
      'End of it',
    ],
  },
  // Lists end before lines of attributes and comments, which may say how their items are marked.
  {
    file: 'separate.adoc',
    content:
      '= Rules\n\n. pay\n. moor\n\n//-\n\n. row\n\n[start=7]\n. seven\n\n[upperalpha]\n. bow\n. stern\n\n[lowerroman,start=3]\n. three\n[loweralpha]\n.. aye\n\n+\nAt night.\n. four\n',
    has: ['1. pay\n2. moor\n1. row\n7. seven', 'A. bow', 'B. stern', 'iii. three', 'a. aye', 'At night.', 'iv. four'],
  },
  {
    file: 'items.tex',
    content:
      '\\begin{enumerate}\n\\item pay\n\\item moor\n\\begin{enumerate}\n\\item bow\n\\item[(x)] own\n\\item stern\n\\end{enumerate}\n\\item leave\n\\end{enumerate}\n\n' +
      '\\begin{enumerate}[label=(\\roman*), start=3]\n\\item three\n\\end{enumerate}\n\nOr\n\n\\begin{enumerate}[a)]\n\\item aye\n\\begin{itemize}\n\\item nay\n\\end{itemize}\n\\end{enumerate}\n',
    lines: ['1. pay', '2. moor', '  (a) bow', '  - [(x)] own', '  (b) stern', '3. leave', '(iii) three', 'a) aye', '  - nay'],
    warnings: [],
  },
  // Numbers and marks that a document sets, in its preamble or in a list; options that are no marks.
  {
    file: 'counted.tex',
    content:
      '\\renewcommand{\\theenumi}{\\Roman{enumi}}\n\\renewcommand\\labelenumii{\\textbf{\\alph{enumii}.}}\n\\begin{document}\n\\begin{enumerate}\\setcounter{enumi}{4}\n\\item five\n\\item\n  six\n\\begin{enumerate}\n\\item bow\n\\end{enumerate}\n\\addtocounter{enumi}{2}\n\\item nine\n\\end{enumerate}\n\n' +
      '\\begin{enumerate}[resume]\n\\item ten\n\\end{enumerate}\n\n\\begin{enumerate}\n\\def\\labelenumi{(\\arabic{enumi})}\n\\setcounter{enumi}{1}\n\\item two\n\\end{enumerate}\n\n' +
      '\\begin{enumerate}[noitemsep, label=\\textbf{\\arabic*.}]\n\\item pay\n\\begin{enumerate}[label*=\\arabic*]\n\\item in cash\n\\end{enumerate}\n\\end{enumerate}\n\n\\begin{enumerate}[noitemsep]\n\\item leave\n\\end{enumerate}\n\\end{document}\n',
    has: ['V. five', 'VI. six', 'a. bow', 'IX. nine', 'X. ten', '(2) two', '1. pay', '1.1 in cash', 'I. leave'],
    lacks: ['counter', 'labelenum', 'noitemsep'],
  },
  {
    file: 'items.txt',
    content: 'Rules:\n\n 9. pay\n10. moor\n    - bow\n      with a rope\n\n    - stern\n11. leave\n',
    lines: ['9. pay', '10. moor', '  - bow with a rope', '  - stern', '11. leave'],
  },
  // Levels of headings are in the order of their first marks; roles and links read as their texts, and comments are left out.
  {
    file: 'roles.rst',
    content:
      '=======\n Lamps\n=======\n\nOil\n===\n\nIt is :ref:`in the list <fees>`, see :doc:`rules` and `the port <http://x>`_.\n\nWick\n^^^^\n\n10\\ :sup:`6` m of H\\ :sub:`2`\\ O, :math:`a < b`, ``:sup:`x` <y>``, the 3\\ :sup:`rd` [1]_ of |port|.\n\n' +
      '.. |port| replace:: Great Quay\n.. A comment\n   of two lines.\n\n.. [1] In May.\n\nFuel\n====\n\nType::\n\n   .. include:: x.rst\n   fill `it`_\n\nDone.\n',
    title: 'Lamps',
    says: '[Oil] It is in the list, see rules and the port. [Oil > Wick] 10^6 m of H2O, a < b, ``:sup:`x` <y>``, the 3rd [1] of Great Quay. [1] In May. [Fuel] Type: .. include:: x.rst fill `it`_ Done.',
    lines: ['   .. include:: x.rst'],
    warnings: [],
  },
  {
    file: 'listings.tex',
    content: '\\begin{document}\nSo:\n\\begin{verbatim}\n\\input{x}\n\\begin{tabular}{l}\n\\end{verbatim}\n% \\input{y}\n\\end{document}\n',
    says: 'So: \\input{x} \\begin{tabular}{l}',
    warnings: [],
  },
  {
    file: 'listings.adoc',
    content: '= Lamp\n\nSo:\n\n----\ninclude::x.adoc[]\n----\n',
    says: 'So: include::x.adoc[]',
    warnings: [],
  },
  // What a document says of itself is text, as front matter is.
  {
    file: 'described.org',
    content: '#+TITLE: Lamps\n#+DESCRIPTION: All of May\n#+KEYWORDS: oil\n#+OPTIONS: toc:nil\n* Oil\nIt burns.\n',
    title: 'Lamps',
    says: '#+DESCRIPTION: All of May #+KEYWORDS: oil [Oil] It burns.',
  },
  {
    file: 'described.adoc',
    content: '= Lamps\n:description: All of May\n:revdate: 3 May\n:toc: left\n\n== Oil\n\nIt burns.\n',
    title: 'Lamps',
    says: ':description: All of May :revdate: 3 May [Oil] It burns.',
  },
  // Letters that LaTeX writes as commands, which may be in braces.
  {
    file: 'accents.tex',
    content:
      '\\section{M\\"uller}\n{\\"O}l, \\\'{e}t\\\'e, na\\"{\\i}ve, \\v{s}\\v s, gar\\c{c}on, Stra\\ss e, Gru\\ss{} an \\AA, {\\bf \\"u}, a\\\\"b, x\\_1, \\url{a}.\n\\begin{verbatim}\n"\\"no\\""\n\\end{verbatim}\n',
    says: '\u00d6l, \u00e9t\u00e9, na\u00efve, \u0161\u0161, gar\u00e7on, Stra\u00dfe, Gru\u00df an \u00c5, {\\bf \u00fc}, a\\\\"b, x_1, \\url{a}. "\\"no\\""',
    title: 'M\u00fcller',
  },
  // A name with a comma is one.
  {
    file: 'names.eml',
    content: mail('To: "Berg, Ann" <a@example.org>, Bo <b@example.org>', 'It is lit.'),
    says: 'From: ann@example.org To: "Berg, Ann" <a@example.org>, Bo <b@example.org> It is lit.',
  },
  // Tables of reStructuredText: names of groups, cells of several lines, blank lines between rows; those whose cells span others stay as they are.
  {
    file: 'tables.rst',
    content:
      'Fees\n====\n\n=====  =====  ======\n   Inputs     Output\n------------  ------\n  A      B    A or B\n=====  =====  ======\nFalse  True   True\n=====  =====  ======\n\n' +
      '======  ==================\nBoat    Meaning of the\n        ``name``\n======  ==================\nraft    a :term:`float`\n        of logs\n\ntug     - pulls\n        - pushes\n\\       no name\n======  ==================\n\nEnd.\n\n' +
      '+------+---------+\n| Boat | Fee     |\n+======+=========+\n| raft | 7       |\n|      | crowns  |\n+------+---------+\n| tug  | 9       |\n+------+---------+\n\n' +
      '+------+-----+\n| oil  | wax |\n+------+-----+\n| both used  |\n+------+-----+\n\n====  ====\nlong text of both\n====  ====\n',
    lines: [
      'Inputs A: False; Inputs B: True; Output A or B: True',
      'Boat: raft; Meaning of the ``name``: a float of logs',
      'Boat: tug; Meaning of the ``name``: - pulls - pushes',
      'Meaning of the ``name``: no name',
      'Boat: raft; Fee: 7 crowns',
      'Boat: tug; Fee: 9',
      '| both used  |',
      'long text of both',
    ],
    has: ['End.'],
  },
]
