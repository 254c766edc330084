import type { FidelityCase } from '../contract.ts'

const page = (body: string, title = 'Harbour'): string =>
  `<!doctype html><html><head><meta charset="utf-8"><title>${title}</title></head><body>${body}</body></html>`
const main = (inside: string): string => page(`<main>${inside}</main>`)
const TIMETABLE =
  '<h1>Ferry timetable</h1><p>The first ferry leaves pier four at ten past six in the morning, the last one at eleven at night.</p>' +
  '<p>Bicycles cost two crowns, dogs travel free, and cars must be booked a day ahead by telephone.</p>'
const TIMES = [
  'The first ferry leaves pier four at ten past six in the morning, the last one at eleven at night.',
  'Bicycles cost two crowns, dogs travel free, and cars must be booked a day ahead by telephone.',
]

const GAPS =
  '<table><tr><td>Boat</td><td>Plan</td><td>Done</td></tr><tr><td>Raft</td><td></td><td>yes</td></tr><tr><td>Tug</td><td>no</td><td></td></tr><tr><td></td><td>no</td><td>yes</td></tr></table>'

/** What is the main text. */
const MAIN_TEXT: readonly FidelityCase[] = [
  // Values keep their places in a table without names: not next to columns without text, and not in a form.
  {
    file: 'gaps.html',
    content: page(
      `${GAPS}<table><tr><td>a1</td><td></td><td>b1</td></tr><tr><td>a2</td><td></td><td>b2</td></tr></table><table><tr><td>Boat:</td><td></td><td>Raft</td></tr><tr><td>From:</td><td>May</td><td></td></tr></table><table><tr><td colspan="2">both</td><td>c</td></tr><tr><td>a</td><td>b</td><td>c</td></tr></table>`,
    ),
    lines: ['Boat; Plan; Done', 'Raft; ; yes', 'Tug; no', '; no; yes', 'a1; b1', 'Boat: Raft', 'From: May', 'both; ; c', 'a; b; c'],
  },
  // Names of columns without values are in the first row below them, once: also in groups, below a title, and where no row below has a text.
  {
    file: 'unused-names.html',
    content: page(
      `<table>${'<tr><th>Task</th><th>Owner</th><th>Hours</th><th>Sign</th></tr><tr><td>Paint</td><td></td><td>3</td><td></td></tr><tr><td>Saw</td><td></td><td>4</td></tr>'.repeat(2)}</table>` +
        '<table><tr><th rowspan="2">Boat</th><th colspan="2">Money</th></tr><tr><th>out</th><th>in</th></tr><tr><td colspan="3">May</td></tr><tr><td>Raft</td><td></td><td>7</td></tr></table>' +
        '<table><tr><th>Berth</th><th>Length</th></tr><tr><td></td><td></td></tr><tr><th>Crew</th><th>Pay</th></tr><tr><td>Ann</td><td></td></tr></table>',
    ),
    says: 'Task: Paint; Owner:; Hours: 3; Sign: Task: Saw; Hours: 4 Task: Paint; Hours: 3 Task: Saw; Hours: 4 May Boat: Raft; Money out:; Money in: 7 Berth:; Length: Crew: Ann; Pay:',
  },
  // The only texts of a table are none of its columns' names: layouts, and empty forms.
  {
    file: 'unfilled.html',
    content: page(
      '<table><tr><td>Watch</td><td></td></tr><tr><td></td><td></td></tr></table>' +
        '<table><tr><td><b>Tide</b></td><td></td></tr><tr><td><b>Mole</b></td><td></td></tr></table>' +
        '<table><tr><th>Name</th><th>Berth</th></tr><tr><td></td><td></td></tr><tr><td></td><td></td></tr></table>' +
        '<table><tr><td></td><td></td></tr><tr><td>A boat waits at the mole until its lamp is lit.</td><td></td></tr></table>',
    ),
    lines: ['Watch', 'Tide', 'Mole', 'Name: Berth', 'A boat waits at the mole until its lamp is lit.'],
  },
  // Links of MediaWiki to an editor are no part of a heading.
  {
    file: 'edited.html',
    content: page(
      '<h1>Lamp</h1><h2>Oil<span class="mw-editsection"><span>[</span><a href="/e">edit</a><span>]</span></span></h2><p>Whale oil.</p>',
    ),
    says: '[Lamp > Oil] Whale oil.',
  },
  {
    file: 'comment.html',
    content: page(`<div>${TIMETABLE}</div><ol><li><article><p>Great page, thank you!</p></article></li></ol>`, 'Ferry timetable'),
    has: [...TIMES, 'Great page'],
  },
  { file: 'tiny-main.html', content: page(`<div>${TIMETABLE}</div><main><p>Loading.</p></main>`), has: TIMES },
  { file: 'tiny-role.html', content: page(`<div role="main"><p>Search.</p></div><div>${TIMETABLE}</div>`), has: TIMES },
  {
    file: 'second-main.html',
    content: page(`<main><p>Menu of the day.</p></main><main>${TIMETABLE}</main>`),
    says: `[Ferry timetable] ${TIMES.join(' ')}`,
  },
  {
    file: 'sidebar.html',
    content: page(
      `<div class="sidebar"><ul>${'<li><a href="/x">Another page of this site</a></li>'.repeat(40)}</ul></div><main><p>${TIMES.join('</p><p>')}</p></main>`,
    ),
    says: TIMES.join(' '),
    warnings: [/^\d+ % of the page's text was read, without menus, headers, footers and hidden parts\.$/],
  },
  // Paths, rows of letters, links to the top, to other languages and to the next page; and footers that are marked by an id.
  {
    file: 'around.html',
    content: page(
      '<div id="way"><a href="/">Port</a> &gt; <a href="/d">Docks</a> &gt; <a href="/d/2">Second</a></div><p><a href="#A">A</a> <a href="#B">B</a> <a href="#C">C</a></p>' +
        '[ <a href="p1">prev</a> | <a href="p3">next</a> | <a href="p0">up</a> ]<hr>' +
        `${TIMETABLE}<div><a href="#header"><img alt="top" src="up.gif"></a></div><p><a href="#">Back to top</a></p>` +
        '<p>Languages: <a href="de" hreflang="de" rel="alternate">Deutsch</a>, <a href="fr" hreflang="fr" rel="alternate">fran\u00e7ais</a></p>' +
        '<a class="p" href="1">&lt;-previous</a><a href="0">All chapters</a><a href="2">next-&gt;</a><div id="footer">Copyright 2026 The Port</div>',
    ),
    says: `[Ferry timetable] ${TIMES.join(' ')}`,
  },
  // The same words in sentences and lists of content.
  {
    file: 'no-menus.html',
    content: page(
      `${TIMETABLE}<p>Go back to the <a href="#x">top</a> of the mast.</p><p>The <a href="n">next</a> tide is high.</p>` +
        '<h2>See also</h2><p><a href="a">Tides</a>, <a href="b">Lamps</a></p><ul><li><a href="#t1">Linux</a></li><li><a href="#t2">Windows</a></li><li><a href="#t3">Amiga</a></li></ul>' +
        '<p>Press <a href="f">File</a> &gt; <a href="s">Save</a> twice.</p>',
    ),
    says: `[Ferry timetable] ${TIMES.join(' ')} Go back to the top of the mast. The next tide is high. [Ferry timetable > See also] Tides, Lamps - Linux - Windows - Amiga Press File > Save twice.`,
  },
  {
    file: 'own-headings.html',
    content: page(
      '<ul><li><a href="#a">Ebb</a></li><li><a href="#b">1.2 Flood</a></li><li><a href="#c">Spring tide</a></li></ul>' +
        '<h2 id="a">1.1 Ebb</h2><p>Water falls.</p><h2 id="b">1.2. Flood</h2><p>Water rises.</p><h2 id="c">Spring tide</h2><p>Water is high.</p>',
    ),
    says: '[1.1 Ebb] Water falls. [1.2. Flood] Water rises. [Spring tide] Water is high.',
  },
  {
    file: 'only-links.html',
    content: page('<ul class="toc"><li><a href="a">Tides</a></li><li><a href="b">Lamps</a></li></ul>'),
    says: '- Tides - Lamps',
  },
]

/** Menus and footers. */
const NAVIGATION: readonly FidelityCase[] = [
  {
    file: 'chunk.html',
    content: page(
      '<div class="navheader"><table summary="Navigation header"><tr><th colspan="3">Chapter 2. Tools</th></tr><tr><td><a accesskey="p" href="a">Prev</a></td><td></td><td><a accesskey="n" href="c">Next</a></td></tr></table></div>' +
        '<div class="toc"><p><b>Table of Contents</b></p><dl><dt><a href="#a">Lamp</a></dt><dt><a href="#b">Rope and knots</a></dt></dl></div>' +
        '<div class="section"><h2>Lamp</h2><p>The lamp burns oil for nine hours.</p></div>' +
        '<table width="100%"><tr><td><a href="a">Prev</a></td><td><a href="i">Home</a></td><td><a href="c">Next</a></td></tr><tr><td>Axe</td><td></td><td>Rope</td></tr></table>',
    ),
    says: '[Lamp] The lamp burns oil for nine hours.',
  },
  {
    file: 'toctree.html',
    content: page(
      `<div class="toctree-wrapper compound"><ul><li><a href="a">1. Lamps</a></li><li><a href="b">2. Tides</a></li></ul></div><div role="main">${TIMETABLE}</div>`,
    ),
    says: `[Ferry timetable] ${TIMES.join(' ')}`,
  },
  {
    file: 'layout-menu.html',
    content: page(
      `<center><a href="a">Home</a> | <a href="b">Tides</a> | <a href="c">Lamps</a></center><table><tr><td><a href="a">Home</a><br><a href="b">News</a><br><a href="c">Shop</a></td><td>${TIMETABLE}</td></tr></table><table width="100%"><tr><td><a href="a">About</a></td><td><a href="b">Help</a></td><td><a href="c">Terms</a></td></tr></table>`,
    ),
    says: `[Ferry timetable] ${TIMES.join(' ')}`,
  },
  {
    file: 'linked-table.html',
    content: page(
      `${TIMETABLE}<table><tr><td><a href="a">Raft</a></td><td><a href="b">Ann Berg</a></td></tr><tr><td><a href="c">Yacht</a></td><td><a href="d">Bo Ek</a></td></tr></table><table><tr><th>Crew</th><td><a href="e">Ann</a>, <a href="f">Bo</a>, <a href="g">Cy</a></td></tr><tr><th>Port</th><td>Elm</td></tr></table>`,
    ),
    lines: ['Raft: Ann Berg', 'Yacht: Bo Ek', 'Crew: Ann, Bo, Cy', 'Port: Elm'],
  },
  {
    file: 'admonition.html',
    content: main(
      '<table summary="Tip"><tr><td rowspan="2"><img alt="[Tip]" src="tip.png"></td><th>Tip</th></tr><tr><td><p>Light the lamp at dusk.</p></td></tr></table><dl compact><p><dt><b>FUEL</b></dt><dd>Whale oil.</dd><dt>WICK</dt><dd>Cotton.</dd></p></dl><dl><p>No terms here.</p></dl>',
    ),
    says: '[Tip] Tip Light the lamp at dusk. - FUEL: Whale oil. - WICK: Cotton. - No terms here.',
  },
  {
    file: 'texinfo.html',
    content: page(
      '<div class="header"><p>Next: <a href="c" rel="next">Rope</a>, Previous: <a href="a" rel="prev">Axe</a>, Up: <a href="i" rel="up">Tools</a> &nbsp; [<a href="i">Contents</a>]</p></div><h3>Lamp</h3><p>The lamp burns oil.</p>',
    ),
    says: '[Lamp] The lamp burns oil.',
  },
  {
    file: 'footer.html',
    content: page(
      '<div id="wrap"><p>The lamp burns oil.</p><footer>Imprint 2026</footer></div><div class="breadcrumb"><a href="/">Home</a> &gt; Lamps</div>',
    ),
    says: 'The lamp burns oil.',
  },
  // A quotation's source, steps of instructions and a table of previous and next owners are no menus.
  {
    file: 'no-menus.html',
    content: main(
      '<blockquote><p>All ships wait.</p><footer>Harbour law</footer></blockquote><p>Then press <a href="#n">Next</a> to order a pilot.</p><table><tr><th>Previous owner</th><th>Next owner</th></tr><tr><td>Ann</td><td>Bo</td></tr></table>',
    ),
    says: 'All ships wait. Harbour law Then press Next to order a pilot. Previous owner: Ann; Next owner: Bo',
  },
]

const TABLES: readonly FidelityCase[] = [
  {
    file: 'names.html',
    content: main(
      '<table><thead><tr><th rowspan="2">Team</th><th colspan="2">2024</th><th>2025</th></tr><tr><th>Won</th><th>Lost</th><th>Won</th></tr></thead>' +
        '<tr><td>Ants</td><td>7</td><td>7</td><td>9</td></tr><tr><td colspan="4">North</td></tr><tr><td rowspan="2">Bees</td><td>1</td><td colspan="2">none</td></tr><tr><td>2</td><td>3</td><td>4</td></tr></table>',
    ),
    lines: [
      'Team: Ants; 2024 Won: 7; 2024 Lost: 7; 2025 Won: 9',
      'North',
      'Team: Bees; 2024 Won: 1; 2024 Lost: none; 2025 Won: none',
      'Team: Bees; 2024 Won: 2; 2024 Lost: 3; 2025 Won: 4',
    ],
  },
  {
    file: 'values.html',
    content: main('<table><tr><td>7</td><td>7</td><td>9</td></tr><tr><td>1</td><td colspan="2">2</td></tr></table>'),
    lines: ['7; 7; 9', '1; 2'],
  },
  {
    file: 'row-names.html',
    content: main(
      '<table><tr><th>Built</th><td>1811 in oak</td></tr><tr><th>Owner</th><td>Ann Berg</td></tr></table><table><tr><th scope="row">Name:</th><td>Bo</td><th scope="row">Age:</th><td>31</td></tr></table>' +
        '<table><tr><td></td><th>Mon</th><th>Tue</th></tr><tr><th>Open</th><td>8</td><td>9</td></tr></table><table><tr><th>Motto</th><td></td></tr><tr><th>Height</th><td>21 m</td></tr></table>',
    ),
    lines: ['Built: 1811 in oak', 'Owner: Ann Berg', 'Name: Bo; Age: 31', 'Open; Mon: 8; Tue: 9', 'Motto', 'Height: 21 m'],
  },
  {
    file: 'unmarked.html',
    content: main(
      '<table><tr><td>Applicant</td><td>Ann</td></tr><tr><td>Supervisor</td><td>Bo</td></tr></table><table><tr><td>Name</td><td>Role</td><td>City</td></tr><tr><td>Ann</td><td>Cook</td><td>Oslo</td></tr></table>' +
        '<table><tr><td><b>Name</b></td><td><b>Role</b></td><td><b>City</b></td></tr><tr><td>Bo</td><td>Pilot</td><td>Rome</td></tr></table><table><tr><td>Boat</td><td>Fee</td><td>From</td></tr><tr><td>Raft</td><td>15 kr</td><td>May</td></tr></table>',
    ),
    lines: [
      'Applicant: Ann',
      'Supervisor: Bo',
      'Name; Role; City',
      'Ann; Cook; Oslo',
      'Name: Bo; Role: Pilot; City: Rome',
      'Boat: Raft; Fee: 15 kr; From: May',
    ],
    lacks: ['Applicant: Supervisor', 'Name: Ann'],
  },
  {
    file: 'lists-in-cells.html',
    content: main(
      '<table><tr><th>Kind</th><th>Parts</th></tr><tr><td>Box</td><td><ul><li>hammer</li><li>saw</li></ul></td></tr><tr><td>Door</td><td><ol><li>cut</li><li>nail</li></ol>Done<br>well.</td></tr></table>',
    ),
    lines: ['Kind: Box; Parts: hammer, saw', 'Kind: Door; Parts: 1. cut, 2. nail Done well.'],
  },
]

const SHOWN: readonly FidelityCase[] = [
  {
    file: 'raised.html',
    content: main(
      '<p>10<sup>6</sup> km, 5 m<sup>2</sup>, 10<sup>\u22123</sup>, x<sup>2n+1</sup>, the 2<sup>nd</sup> of H<sub>2</sub>O, 101<sub>2</sub>, Foo<sup>TM</sup>. Finland.<sup>4</sup> Norway<sup><a href="#x">5</a></sup> <i>a<b><sup>2</sup></b></i></p><pre>2<sup>8</sup></pre>',
    ),
    says: '10^6 km, 5 m^2, 10^\u22123, x^(2n+1), the 2nd of H2O, 101_2, Foo\u2122. Finland.[4] Norway[5] a^2 2^8',
  },
  {
    file: 'notes.html',
    content: main(
      '<h2>Notice</h2><p>It is thirty days.<sup id="r"><a href="#fn1">1</a></sup></p><h2>Parking</h2><p>Closed at ten.</p><section class="footnotes"><ol><li id="fn1"><p>In Finland nine. <a href="#r">\u21a9</a></p></li></ol></section>',
    ),
    says: '[Notice] It is thirty days.[1] [1] In Finland nine. [Parking] Closed at ten.',
    headings: { Finland: 'Notice' },
  },
  {
    file: 'opens.html',
    content: main(
      '<button class="accordion">What does it cost?</button><div class="panel" style="display:none"><p>Nothing at all.</p></div><h3><button aria-expanded="false" aria-controls="p">Where is it?</button></h3><div id="p" hidden>By the mole.</div>' +
        '<details><summary>Is it open?</summary>Daily.</details><button>Copy</button><p hidden>secret</p><p style="display: none">gone</p><span aria-hidden="true">icon</span>' +
        '<div role="tablist"><a role="tab" id="t1">Linux</a><a role="tab" id="t2">Windows</a></div><div role="tabpanel" aria-labelledby="t2" hidden>Run setup.</div><div role="tabpanel" aria-labelledby="t1">Run tar.</div>',
    ),
    says: 'What does it cost? Nothing at all. [Where is it?] By the mole. Is it open? Daily. Windows: Run setup. Linux: Run tar.',
  },
  {
    file: 'images.html',
    content: main(
      '<p><img src="m.png" alt="Map of the harbour"></p><p>Press <img src="x" alt="OK"> now. <img src="https://img.shields.io/a" alt="build"><img src="a.jpg" alt="IMG_1.jpg"></p><ul><li><input type="checkbox" checked> paid</li><li><input type="checkbox"> sent</li></ul>',
    ),
    says: 'Map of the harbour Press OK now. - [x] paid - [ ] sent',
  },
  {
    file: 'fields.html',
    content: main(
      '<p>Name:<input value="Ann Berg">, <input type="hidden" value="1"><input type="password" value="2"><input type="submit" value="Send">' +
        '<select><option>Three</option><option selected>four</option></select> berths.</p><textarea>Near the\n&lt;mole&gt;, please.</textarea>' +
        '<ul><li><input type="radio" checked> daily</li></ul>',
    ),
    says: 'Name: Ann Berg, four berths. Near the <mole>, please. - [x] daily',
  },
  {
    file: 'noscript.html',
    content: main(
      '<p>It is lit.</p><noscript><p>The table: six at night.</p><img src="t.gif" alt="pixel"></noscript><noscript>Please enable JavaScript.</noscript>',
    ),
    says: 'It is lit. The table: six at night.',
  },
  // What is hidden says nothing, and the name of a drawing is not the page's.
  {
    file: 'unseen.html',
    content:
      '<body><p><svg><title>Ship</title></svg> sails<sup style="display:none">9</sup> at <img hidden src="i" alt="icon">six.<svg aria-hidden="true"><title>arrow</title></svg></p>',
    title: 'unseen',
    says: 'Ship sails at six.',
  },
  {
    file: 'lists.html',
    content: main(
      '<ol><li>Open<ol type="a"><li>left</li><li>right</li></ol></li><li>Close<ul><li>door</li></ul>then lock</li><li value="9">Nine</li></ol><ol start="3" type="I"><li>three</li></ol><ol reversed><li>two</li><li>one</li></ol><ul><li>- dash</li></ul>',
    ),
    says: '1. Open a. left b. right 2. Close - door then lock 9. Nine III. three 2. two 1. one - - dash',
    lines: ['  a. left', '2. Close', '  then lock'],
  },
  {
    file: 'code.html',
    content: main(
      '<pre><span>if x:</span>\n<span>    y = 1</span></pre><pre><div>a</div><div>  b</div></pre><table><tr><td class="linenos"><pre>1\n2</pre></td><td><pre>c\nd</pre></td></tr></table>',
    ),
    lines: ['if x:', '    y = 1', '  b', 'c', 'd'],
    lacks: ['1\n2'],
  },
  // The tags of the head may be left out, in part or all.
  {
    file: 'open-head.html',
    content: '<!doctype html><head><title>Lamp</title><p>It burns.<p>All night.',
    says: 'It burns. All night.',
    title: 'Lamp',
  },
  {
    file: 'no-head.html',
    content: '<title>Lamp</title><p>It burns.<ul><li>oil<li>wick</ul>',
    says: 'It burns. - oil - wick',
    title: 'Lamp',
  },
  {
    file: 'styled.html',
    content: main(
      '<p>10<span style="vertical-align: super">6</span> km, H<span style="vertical-align:sub">2</span>O, <span style="color:red;text-decoration: line-through">12</span>15, <strike>12</strike>15, 3<sup>1</sup>/<sub>2</sub> cups, <sup>1</sup>\u2044<sub>4</sub> of it, km<sup>2</sup>/year.',
    ),
    says: '10^6 km, H2O, ~~12~~ 15, ~~12~~ 15, 3 1/2 cups, 1\u20444 of it, km^2/year.',
  },
  // Classes, as Google Docs writes them; a rule of links under the mouse is none of the text.
  {
    file: 'classes.html',
    content:
      '<style>/* .x{vertical-align:super} */.c1{vertical-align:baseline}@media all{span.c5 , .c8{color:red;vertical-align:super}}.c6{text-decoration:line-through}.c7{vertical-align:sub}.x:hover{text-decoration:line-through}</style>' +
      main(
        '<p>Ten <span class="x">lamps</span> of 10<span class="c1 c5">6</span> candles, <span class="c6">100</span><span class="c1">80</span> EUR, log<span class="c7">2</span>8, m<span class="c8">2</span>.',
      ),
    says: 'Ten lamps of 10^6 candles, ~~100~~ 80 EUR, log2 8, m^2.',
  },
  {
    file: 'scripts.html',
    content: main(
      '<p>log<sub>2</sub>8, x<sup>2</sup>3, Text<ins>new</ins><del>old</del>text, Note<sup>a</sup> of the XVIII<sup>e</sup>, 2<sup>a</sup>, b<sup>c</sup>.</p><table><tr><th>Pier<th>Ship<th>At<tr><td rowspan="0">four<td>Ants<td>7<tr><td>Bees<td>8</table>',
    ),
    says: 'log2 8, x^2 3, Textnew ~~old~~ text, Note[a] of the XVIIIe, 2a, b^c. Pier: four; Ship: Ants; At: 7 Pier: four; Ship: Bees; At: 8',
  },
  {
    file: 'spaced.html',
    content: main(
      '<p>5 m<sup>2 </sup>of 10<sup>6 </sup>in<sub> all </sub>places.<sup>1 </sup>Or<sup> not</sup>. So<a href="notes.html#2"><sup>2</sup></a> <a href="m.html">10<sup>6</sup> ways</a>',
    ),
    says: '5 m^2 of 10^6 in all places.[1] Or not. So[2] 10^6 ways',
  },
  {
    file: 'apart.html',
    content: main(
      '<p>Pier<span style="display:block">four</span>at<a href="x" style="color: red; display: flex">noon</a>sharp, or with the last ship of the evening.</p><svg><text x="1">Axis</text></svg>',
    ),
    says: 'Pier four at noon sharp, or with the last ship of the evening.',
    warnings: [/^Not read: texts in drawings \(1\)\.$/],
  },
  {
    file: 'mathml.html',
    content: main(
      '<math><mover><mi>p</mi><mo>^</mo></mover><mo>=</mo><mfrac><mn>1</mn><mrow><mn>2</mn><mi>a</mi></mrow></mfrac></math><p><math><munderover><mo>\u2211</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub></math><p><math><mi>sin</mi><mo>\u2061</mo><mi>x</mi><mmultiscripts><mi>C</mi><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts><mfenced open="["><mi>a</mi><mi>b</mi></mfenced></math>',
    ),
    has: ['p\u0302=1/(2a)', '\u2211_(i=1)^n x_i', 'sin x_6^14 C[a, b)'],
  },
  {
    file: 'letters.html',
    content: main(
      'soft&shy;hyphen, zero&#8203;width, no&nbsp;break, <ruby>\u6e2f<rt>minato</rt></ruby> <q>quoted</q> <del>12</del><ins>15</ins>, cafe\u0301 <math><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mi>c</mi></mrow></mfrac></math><dl><dt>Mole</dt><dd>a wall</dd></dl>',
    ),
    says: 'softhyphen, zerowidth, no break, \u6e2f(minato) "quoted" ~~12~~ 15, caf\u00e9 a/(b+c) - Mole: a wall',
  },
  // A list shows its first option until another is chosen; boxes with a text or a label after them; a page in the page.
  {
    file: 'chosen.html',
    content: main(
      '<div>Pier <select><option>four</option><option>five</option></select> <select><option label="dusk" value="1"></option></select> <select multiple><option>oil</option></select> <input type="search" value="lamp"></div>' +
        '<div><input type="radio" checked> daily<input type="radio"> never</div><div><input type="checkbox" id="a"><label for="a">paid</label></div><div><input type="checkbox" id="menu"><label for="menu">Menu</label></div>' +
        '<iframe srcdoc="&lt;p&gt;Six &amp;lt; 7&lt;sup&gt;2&lt;/sup&gt; berths.&lt;/p&gt;"></iframe><iframe src="https://a.example"></iframe><iframe src="b" hidden></iframe><object data="c.pdf">no PDF</object><iframe></iframe>',
    ),
    says: 'Pier four dusk lamp [x] daily [ ] never [ ] paid Menu Six < 7^2 berths.',
    warnings: [/^Not read: embedded pages \(2\)\.$/],
  },
  // Notes whose marks are signs: a page with one was not read at all.
  {
    file: 'dagger.html',
    content:
      '<p>Oil<a class="footnote-reference" href="#n1" id="r1">\u2020</a> burns<a class="footnote-reference" href="#n2" id="r2">*</a> well<a class="footnote-reference" href="#n3" id="r3">-</a>.</p>' +
      '<aside class="footnote" id="n1"><span class="label"><a href="#r1">\u2020</a></span><p>Of whales.</p></aside><aside class="footnote" id="n2"><span class="label"><a href="#r2">*</a></span><p>At dusk.</p></aside><aside class="footnote" id="n3"><span class="label"><a href="#r3">-</a></span><p>At dawn.</p></aside>',
    has: ['Oil[\u2020] burns[*] well', '[\u2020] Of whales.', '[*] At dusk.'],
  },
  // The name of the rows' names below those of the columns, as pandas writes it.
  {
    file: 'index-name.html',
    content:
      '<table><thead><tr><th></th><th colspan=2>Fee</th></tr><tr><th></th><th>May</th><th>June</th></tr><tr><th>Boat</th><th></th><th></th></tr></thead><tr><th>Raft</th><td>5</td><td>7</td></tr><tr><th>Tug</th><td>9</td><td>8</td></tr></table>',
    says: 'Boat: Raft; Fee May: 5; Fee June: 7 Boat: Tug; Fee May: 9; Fee June: 8',
  },
  // A caption that only repeats its picture's alternative text, as Pandoc writes it.
  {
    file: 'caption.html',
    content:
      '<figure><img src="a.svg" alt="The mole at dusk"><figcaption aria-hidden="true">The mole at dusk</figcaption></figure><figure><img src="b.svg" alt="A lamp"><figcaption>Lit at six.</figcaption></figure><p aria-hidden="true">Stay.</p>',
    says: 'The mole at dusk A lamp Lit at six. Stay.',
  },
  // Signs between the parts of a formula; elements that older pages, or new ones, show as blocks.
  {
    file: 'apart.html',
    content:
      '<p><math><mi>P</mi><mfenced separators="|"><mi>A</mi><mi>B</mi></mfenced><mfenced separators=";,"><mi>x</mi><mi>y</mi><mi>z</mi></mfenced></math></p>One<listing>two</listing>three<xmp>four</xmp>five<search>six</search>seven<dir><li>eight</dir>nine<plaintext>ten',
    says: 'P(A|B)(x; y, z) One two three four five six seven eight nine ten',
  },
]

/** What stands where HTML expects only items, rows and cells, or is hidden there. */
const MISPLACED: readonly FidelityCase[] = [
  // End tags that may be left out, also around other elements.
  {
    file: 'minified.html',
    content:
      '<table><thead><tr><th rowspan=2>Boat<th colspan=2>Fee<tr><th>May<th>June<tbody><tr><td>Raft<td><p>5<td><p>7<tr><th scope=row>Tug<td>9<td>8<tfoot><tr><td>Sum<td>14<td>15</table>' +
      '<p>Rules:<ul><li><p>pay<li><p>moor<ul><li>bow<li>stern</ul><li><div>leave</div></ul><dl><dt>Mole<dd><p>of stone<p>and wood<dt>Quay<dd>long</dl>' +
      '<table><tr><td>outer<table><tr><td>lamp<td>oil</table><td>last</table>End.',
    lines: [
      'Boat: Raft; Fee May: 5; Fee June: 7',
      'Boat: Tug; Fee May: 9; Fee June: 8',
      'Boat: Sum; Fee May: 14; Fee June: 15',
      '- pay',
      '- moor',
      '  - bow',
      '  - stern',
      '- leave',
      '- Mole: of stone and wood',
      '- Quay: long',
      'lamp: oil',
      'End.',
    ],
  },
  {
    file: 'between.html',
    content: main(
      '<ul>Bring<li>oil</li>and<li>wax</li></ul><ol><li>fill</li><b>slowly</b><li>light</li></ol><dl><dt>Mole</dt><dd>a wall</dd>near<dt>Quay</dt><dd>a berth</dd></dl>',
    ),
    says: '- Bring - oil - and - wax 1. fill - slowly 2. light - Mole: a wall - near - Quay: a berth',
  },
  {
    file: 'hidden.html',
    content: main(
      '<ul><script>var x = 1</script><li>oil</li><li hidden>secret</li><li style="display:none">gone</li></ul><dl><dt>Mole</dt><dd>a wall</dd><dt hidden>Old</dt><dd hidden>none</dd></dl>' +
        '<table><tr><td>Raft</td><td>7</td></tr><tr style="display:none"><td>Tug</td><td>8</td></tr><tr><td>Yacht</td><td>9</td><td hidden>id</td></tr></table><datalist><option>Oslo</option></datalist>',
    ),
    says: '- oil - Mole: a wall Raft: 7 Yacht: 9',
  },
  {
    file: 'forms.html',
    content: main(
      '<table><tr><th>Boat</th><th>Fee</th></tr><form action="x"><tr><td>Raft</td><td>7</td></tr></form><tr><form><td>Yacht</td><td>9</td></form></tr></table>',
    ),
    lines: ['Boat: Raft; Fee: 7', 'Boat: Yacht; Fee: 9'],
    warnings: [],
  },
  {
    file: 'blocks.html',
    content: main(
      '<dl><dt><h4>Mole</h4>of stone</dt><dd>a wall</dd></dl><p>It is lit.<sup><a href="#n1">1</a></sup></p><div id="n1">By<pre>oil</pre>at night.</div>',
    ),
    says: '- Mole of stone: a wall It is lit.[1] [1] By oil at night.',
  },
  // Formulas of encyclopedias, whose pictures are hidden from readers; letters of fonts of symbols.
  {
    file: 'energy.html',
    content: main(
      '<p>Its energy <span><span style="display: none;"><math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation>{\\displaystyle}</annotation></semantics></math></span><img src="x.svg" aria-hidden="true" alt="{\\displaystyle E}"></span> is known, <mml:math><mml:msup><mml:mi>c</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:math> too.</p>',
    ),
    says: 'Its energy E=mc^2 is known, c^2 too.',
    warnings: [],
  },
  {
    file: 'fonts.html',
    content: main(
      `<p>Take 5 <font face="Symbol, serif">m</font>g <span style='font-family:Wingdings;mso-ascii-font-family:Arial'><span>J</span></span>, <b style="font-family: 'Symbol'">a<i style="font-family:Arial">a</i></b> a day.</p>` +
        `<p style='mso-list:l0'><span style='font-family:Symbol'><span>\u00b7<span style='font:7.0pt "Times New Roman"'>&nbsp; </span></span></span>daily</p>`,
    ),
    says: 'Take 5 \u03bcg \u263a, \u03b1a a day. \u2022 daily',
  },
]

/** Minus signs that are en dashes, lines of a script without spaces, and values that only a drawing shows. */
const VALUES: readonly FidelityCase[] = [
  {
    file: 'values.html',
    content: main(
      '<p>\u706f\u53f0\u306f\n  \u591c\u306b<br>\n\u5149\u308b\u3002</p><p>A film of 10<sup>\u20133</sup> m, x<sup>\u20132n</sup>.</p><p>Oil <meter min="0" max="9" value="4"></meter>, wax <meter value="0.6">six of ten</meter>, done <progress value="70" max="100"></progress>, <label>light <input type="range" value="5"></label>.</p>',
    ),
    says: '\u706f\u53f0\u306f\u591c\u306b \u5149\u308b\u3002 A film of 10^\u20133 m, x^(\u20132n). Oil 4, wax six of ten, done 70, light 5.',
  },
]

/** Marks that a style gives, a footer above its rows, notes after a space, and XHTML. */
const MARKS: readonly FidelityCase[] = [
  // Struck numbers next to others, and check boxes of exports.
  {
    file: 'struck.html',
    content:
      '<p>Rafts pay 12<s>15</s> crowns, $<del>20</del>18.</p><del><p>Gone <b>for</b></p><p>good</p></del><p style="text-decoration:line-through">Out <s>of</s> date</p><ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span>Paid</span></li><li><div class="checkbox checkbox-off"></div> <span>Sent</span></li></ul>',
    says: 'Rafts pay 12 ~~15~~ crowns, $~~20~~ 18. ~~Gone for~~ ~~good~~ ~~Out of date~~ - [x] Paid - [ ] Sent',
  },
  // Tables in cells of a table: a value of its row, or parts of a layout.
  {
    file: 'nested.html',
    content: main(
      '<table><tr><th>Plan<th>Limits<tr><td>Free<td><table><tr><th>What<th>Most<th>Per<tr><td>calls<td>10<td>day<tr><td>keys<td>1<td>user</table><tr><td>Pro<td>none</table>' +
        '<table><tr><td>Ann Berg<br>Pier 4<td><table><tr><td>Invoice<td>77<tr><td>Sum<td>9 EUR</table><tr><td>To Bo<td>By ship<tr><td colspan="2"><table><tr><th>Item<th>Each<th>Sum<tr><td>Lamp<td>3<td>9</table></table>',
    ),
    lines: [
      'Plan: Free; Limits: (What: calls; Most: 10; Per: day), (What: keys; Most: 1; Per: user)',
      'Plan: Pro; Limits: none',
      'Invoice: 77',
      'Item: Lamp; Each: 3; Sum: 9',
    ],
  },
  // Marks of notes that are links, or are raised by their place and size: they are no digits of the number before them.
  {
    file: 'linked-notes.html',
    content:
      '<style>.up{vertical-align:super;font-size:80%}.place{font-size:60%;position:relative;top:-4px}.low{font-size:8px;vertical-align:-2px}</style>' +
      main(
        '<p>Total 1,250<a class="up" href="#a">1</a> EUR, 300<a href="#b">2</a> lamps, 40 m<small class="place">2</small>, CO<em class="low">2</em>, 15<b style="text-decoration:line-through">12</b>, p. 4<a href="p.html">5</a>, see <a href="#b">2</a>.<p id="a">1 Without freight.<p id="b">2 Not lit.',
      ),
    says: 'Total 1,250[1] EUR, 300[2] lamps, 40 m^2, CO2, 15 ~~12~~, p. 45, see 2. [1] Without freight. 2 Not lit.',
  },
  // What style sheets show before and after elements: signs, money, units, words; no icons of fonts, arrows, quotes and hidden texts.
  {
    file: 'generated.html',
    content:
      '<style>.eur::before{content:"\\20ac "}.minus:before{content:"\\2212"}.dash:before{color:red;content:"-"}.share::after{content:\' %\'}.no::before{content:"not "}.m:after{content:" m"}.fa-x:before{content:"\\f00d"}.go::after{content:"\\2192"}.quote::before{content:"\\201c"}.size::before{content:"phone";display:none}.s::before{content:"s"}</style>' +
      main(
        '<p><span class="eur">45.00</span>, <b class="minus">3.5</b>, <i class="dash">7</i>, <i class="dash">seven</i>, <span class="x share">12</span>, is <em class="no">allowed</em>, <span class="m">9</span><i class="fa-x"></i>, <a class="go">on</a>, <q class="quote size s">so</q>.',
      ),
    says: '\u20ac45.00, \u22123.5, -7, seven, 12 %, is not allowed, 9 m, on, "so".',
  },
  // Numbers in numbers, counters that begin anew in each list, and marks that say something, all by a style sheet.
  {
    file: 'counters.html',
    content:
      '<style>ol{counter-reset:item}ol > li{display:block}ol > li:before{content:counters(item, ".") ". ";counter-increment:item}ol.part{counter-reset:part}ol.part>li::before{content:counter(part,upper-roman)}ol.sub{counter-reset:sub 0}ol.sub li::before{content:counter(part) "/" counter(sub)}.pro li:before{content:"\\2713"}ul.con li::before{content:"\\2717\\00a0"}ul.dot li::before{content:"\\2022"}</style>' +
      main(
        '<ol><li>Scope<ol><li>Goods<ol><li>Oil</li></ol></li><li>Services</li></ol></li><li>Price, see 1.2<ol><li>Net</li></ol></li></ol><p>Or</p><ol><li>Anew</li></ol>' +
          '<ol class="part"><li>Keel<ol class="sub"><li>oak</li><li>ash</li></ol></li><li>Mast<ol class="sub"><li>fir</li></ol></li></ol>' +
          '<ul class="pro"><li>cheap</li></ul><ul class="con"><li>safe</li></ul><ul class="dot"><li>plain</li></ul>',
      ),
    lines: [
      '1. Scope',
      '  1.1. Goods',
      '    1.1.1. Oil',
      '  1.2. Services',
      '2. Price, see 1.2',
      '  2.1. Net',
      '1. Anew',
      'I Keel',
      '  1/1 oak',
      '  1/2 ash',
      'II Mast',
      '  2/1 fir',
      '\u2713 cheap',
      '\u2717 safe',
      '- plain',
    ],
  },
  // Lists of Google Docs, whose levels are in their classes; formats of numbers in the style sheet of the page.
  {
    file: 'levels.html',
    content:
      '<style>@import url(x);.lst-kix_a-1>li:before{content:"" counter(c-a-1,lower-latin) ") "}ol.lst-kix_a-0{list-style-type:none}.lst-kix_a-0>li:before{content:"" counter(c-a-0,decimal) ". "}.lst-kix_b-0>li:before{content:"\\0025cf"}.lst-kix_c-0>li:before{content:counter(c-c-0) ". "}.lst-kix_c-1 > li::before{content:counter(c-c-0) "." counter(c-c-1, decimal)}ol.alpha,.other { list-style: lower-alpha inside } ol ol{list-style-type:upper-roman}</style>' +
      '<ol class="x lst-kix_a-0 start" start="1"><li>oil</li><li>wick</li></ol><ol class="lst-kix_a-1 start" start="1"><li>wool</li><li>hemp</li></ol><ol class="lst-kix_a-0" start="3"><li>glass</li></ol>' +
      '<ul class="lst-kix_b-0 start"><li>bow</li></ul><ul class="lst-kix_b-2 start"><li>port</li></ul><p>Or</p>' +
      '<ol class="lst-kix_c-0"><li>keel</li></ol><ol class="lst-kix_c-1 start" start="1"><li>long</li><li>oak</li></ol><p>Then</p><ol class="alpha"><li>one<ol><li>two</li></ol></li></ol>',
    lines: [
      '1. oil',
      '2. wick',
      '  a) wool',
      '  b) hemp',
      '3. glass',
      '- bow',
      '    - port',
      '1. keel',
      '  1.1 long',
      '  1.2 oak',
      'a. one',
      '  I. two',
    ],
  },
  // What a click opens, by its name, by its place, or by what leads to it; not what appears at other times.
  {
    file: 'opened.html',
    content: main(
      '<div class="ui-tabs"><ul class="ui-tabs-nav"><li><a href="#t1">Oil</a></li><li><a href="#t2">Wax</a></li></ul><div id="t1" class="ui-tabs-panel">It burns.</div><div id="t2" class="ui-tabs-panel" style="display: none;">It melts.</div></div>' +
        '<h3>Wick</h3><div style="display:none">Cotton.</div><h3>Glass</h3><div style="display:none">Clear.</div><p>End.</p>' +
        '<p class="faq-q">How long?</p><div class="faq-answer" style="display:none">Nine hours.</div><a href="javascript:void(0)" onclick="open(\'more-1\')">Where</a><div id="more-1" style="display:none">At sea.</div>' +
        '<a href="#m">Join</a> <a href="#tide">Tide</a><p id="tide" hidden>At noon.</p><div class="modal" id="m" style="display:none">Sign up.</div><div class="form-error" style="display:none">It failed.</div><div style="display:none">secret</div>',
    ),
    says: 'Oil: It burns. Wax: It melts. [Wick] Cotton. [Glass] Clear. End. How long? Nine hours. Where At sea. Join Tide At noon.',
    lacks: ['Sign up', 'failed', 'secret'],
  },
  // A class may show parts of a line apart; a reference to a note that stands before it.
  {
    file: 'apart.html',
    content:
      '<style>.name, b.price { display: block } .x{display:inline} .tag, .letter{margin-right:1px; display: inline-block}</style><p><span class="tag">new</span><span class="tag">big</span> <span class="letter">O</span><span class="letter">h</span> <span class="name">Raft</span><b class="price">7</b>0<span class="x">1</span></p><aside id="n">Oil.</aside><p>Lamp<a role="doc-noteref" href="#n">2</a> burns.</p><pre><code><span class="name">if lit:</span><span class="name">  <b class="tag">fill</b>()</span></code></pre>',
    has: ['if lit:\n  fill()'],
    says: 'new big Oh Raft 7 01 Oil. Lamp[2] burns. if lit: fill()',
  },
  // Icons that are all a cell shows, and what an image by a style is called.
  {
    file: 'icons.html',
    content: main(
      '<table><tr><th>Boat<th>Oars<th>Sail<tr><td>Raft<td><i class="fa fa-check" aria-hidden="true"></i><td><span class="bi bi-x-lg icon-times-circle" title="none"></span><tr><td>Tug<td><i class="glyphicon glyphicon-remove"></i><td><i class="fa fa-check"></i> two<tr><td>Yacht<td><span class="cline-no"></span><td>one</table><p>Rated <span role="img" aria-label="4.5 of 5"></span> by <i class="fa fa-user"></i>Ann <span role="img" aria-label="anchor">\u2693</span>.</p>',
    ),
    lines: ['Boat: Raft; Oars: \u2713; Sail: none', 'Boat: Tug; Oars: \u2717; Sail: two'],
    has: ['Rated 4.5 of 5 by Ann \u2693.'],
  },
  // Three rows of names; a row of texts below names of groups is none; in groups from the first column on only bold type shows names.
  {
    file: 'levels-of-names.html',
    content: main(
      '<table><tr><td rowspan="3">Port<td colspan="3">2024<tr><td colspan="2">Spring<td>Autumn<tr><td>Ships<td>Boats<td>Ships<tr><td>Aby<td>1<td>2<td>3<tr><td>Bay<td>4<td>5<td>6</table>' +
        '<table><tr><th><th colspan="2">Watch<tr><td>Monday<td>Ann<td>Bo<tr><td>Tuesday<td>Cy<td>Di</table>' +
        '<table><tr><td colspan="2"><b>Ship</b><td><b>Crew</b><tr><td><b>Name</b><td><b>Kind</b><td><b>Chief</b><tr><td>Ant<td>tug<td>Eve<tr><td>Bee<td>raft<td>Fay</table>' +
        '<table><tr><td colspan="2">Ship<td>Crew<tr><td>Name<td>Ant<td>ten<tr><td>Kind<td>tug<td>two</table>',
    ),
    lines: [
      'Port: Aby; 2024 Spring Ships: 1; 2024 Spring Boats: 2; 2024 Autumn Ships: 3',
      'Monday; Watch: Ann; Watch: Bo',
      'Ship Name: Bee; Ship Kind: raft; Crew Chief: Fay',
      'Ship; ; Crew',
      'Name; Ant; ten',
    ],
  },
  // Notes of pages that office programs have saved.
  {
    file: 'saved.html',
    content:
      '<p>Ships wait<a class="sdfootnoteanc" name="sdfootnote1anc" href="#sdfootnote1sym"><sup>1</sup></a>.</p><p>Or sail<a href="#_ftn2" name="_ftnref2"><span>[2]</span></a>.</p><p>End.</p>' +
      '<div id="sdfootnote1"><p><a class="sdfootnotesym" name="sdfootnote1sym" href="#sdfootnote1anc">1</a>For high water.</p></div><div id="ftn2"><p><a href="#_ftnref2" name="_ftn2"><span>[2]</span></a> At noon.</p></div>',
    says: 'Ships wait[1]. [1] For high water. Or sail[2]. [2] At noon. End.',
  },
  {
    file: 'marks.html',
    content: main(
      '<ol style="list-style-type: lower-alpha"><li>oil<li>wax</ol><ol style="list-style:upper-roman inside"><li>wick</ol><ol style="list-style: none"><li>lamp</ol><ol style="list-style-type:lower-latin" start="28"><li>last</ol>' +
        '<table><tfoot><tr><td>Sum</td><td>9</td></tr></tfoot><tr><td>Raft</td><td>9</td></tr></table><p>See <sup><a href="#n">1</a></sup> and 2 <sup>3</sup>.</p>',
    ),
    says: 'a. oil b. wax I. wick - lamp ab. last Raft: 9 Sum: 9 See [1] and 2 3.',
  },
  {
    file: 'section.xhtml',
    content: '<?xml version="1.0"?><html><body><p>Six <![CDATA[< seven &]]> more.</p></body></html>',
    says: 'Six < seven & more.',
  },
]

export const HTML_CASES: readonly FidelityCase[] = [...MAIN_TEXT, ...NAVIGATION, ...TABLES, ...SHOWN, ...MISPLACED, ...VALUES, ...MARKS]

/** Cases of files in ../shared. */
export const SHARED_HTML_CASES: readonly FidelityCase[] = [
  {
    file: 'one-article.html',
    has: ['The first ferry leaves pier four', 'Bicycles cost two crowns', 'The crossing takes nine minutes'],
    title: 'Ferry timetable',
  },
  { file: 'docbook.html', says: 'The lamp burns oil for nine hours.' },
  { file: 'sup.html', has: ['10^6 km', '2nd rank.[3]', '5 m^2.'], lacks: ['106', 'm2', 'note1'] },
  {
    file: 'accordion.html',
    headings: { 'Small ones on a lead': 'Can I bring a dog?', 'Forty places': 'Is there parking?' },
  },
  // Tabs of Bootstrap, Material for MkDocs and VitePress have no roles.
  {
    file: 'named-tabs.html',
    content: main(
      '<p>Choose your system before you start the work, then read on.</p>' +
        '<ul class="nav nav-tabs"><li class="active"><a data-toggle="tab" href="#l">Linux</a></li><li><a data-toggle="tab" href="#m">Mac</a></li></ul><div class="tab-content"><div id="l" class="tab-pane active"><p>Run tar.</p></div><div id="m" class="tab-pane"><p>Run brew.</p></div></div>' +
        '<div class="tabbed-set"><input checked id="t1" name="t" type="radio"><input id="t2" name="t" type="radio"><div class="tabbed-labels"><label for="t1">Sloop</label><label for="t2">Tug</label></div><div class="tabbed-content"><div class="tabbed-block"><p>One mast.</p></div><div class="tabbed-block"><p>No mast.</p></div></div></div>' +
        '<div class="vp-code-group"><div class="tabs"><input type="radio" name="g" id="g1" checked><label for="g1">npm</label><input type="radio" name="g" id="g2"><label for="g2">pnpm</label></div><div class="blocks"><div><pre><code>npm i rope</code></pre></div><div><pre><code>pnpm add rope</code></pre></div></div></div>' +
        '<div><label for="y">Yes</label><label for="n">No</label></div><div><input type="radio" id="y"><input type="radio" id="n"></div>' +
        '<div class="choice"><input type="radio" id="o"><label for="o">Open</label> <input type="radio" id="s"><label for="s">Shut</label></div><div><div>First.</div><div>Second.</div></div>',
    ),
    says: 'Choose your system before you start the work, then read on. Linux: Run tar. Mac: Run brew. Sloop: One mast. Tug: No mast. npm: npm i rope pnpm: pnpm add rope YesNo [ ] Open [ ] Shut First. Second.',
  },
  // The style sheet of Docutils has the numbers of lists, and the colon before a type.
  {
    file: 'docutils.html',
    content: main(
      '<ol class="loweralpha simple"><li><p>bow</p></li><li><p>stern</p></li></ol><ol class="upperroman" start="4"><li>four</li></ol><ol class="arabic simple"><li>one</li></ol>' +
        '<dl><dt><strong>depth</strong><span class="classifier">float</span></dt><dd>In metres.</dd><dt>old <span class="classifier-delimiter">:</span> <span class="classifier">int</span></dt><dd>In feet.</dd></dl>',
    ),
    lines: ['a. bow', 'b. stern', 'IV. four', '1. one', '- depth : float: In metres.', '- old : int: In feet.'],
  },
  { file: 'tabs.html', has: ['Linux:', 'Run the tar command.', 'Windows:', 'Run the setup program.'] },
  // Tasks of Confluence and of editors, boxes by their roles, and cells that hold a mark alone.
  {
    file: 'tasks.html',
    content: main(
      '<ul class="inline-task-list"><li data-inline-task-id="1" class="checked"><span>Sign</span></li><li data-inline-task-id="2">Send</li></ul>' +
        '<ul><li data-checked="true"><label><input type="checkbox" checked><span></span></label><div><p>Tar</p></div></li><li data-checked="false"><p>Caulk</p></li></ul>' +
        '<ul><li data-list="bullet">Oars</li><li data-list="checked">Sail</li><li data-list="unchecked">Mast</li></ul>' +
        '<div role="radio" aria-checked="true">By sea</div><button role="checkbox" aria-checked="false"></button><label>By land</label>' +
        '<table><tr><th>Part<th>Built<th>Extra<tr><td>Radio<td>&bull;<td><div class="checkbox checkbox-off"></div><tr><td>Ramp<td>&lt;<td><ul><li>-5 kg</ul></table>',
    ),
    lines: [
      '- [x] Sign',
      '- [ ] Send',
      '- [x] Tar',
      '- [ ] Caulk',
      '- Oars',
      '- [x] Sail',
      '- [ ] Mast',
      '[x] By sea',
      '[ ] By land',
    ].concat('Part: Radio; Built: \u2022; Extra: [ ]', 'Part: Ramp; Built: <; Extra: -5 kg'),
  },
  // Cents that are raised, powers, and parts that are hidden, which are counted.
  {
    file: 'cents.html',
    content:
      '<p>A raft costs $19<sup>99</sup>, a boat 1.249<sup>50</sup> \u20ac, a sail 7<sup>95</sup><b>\u20ac</b>, a mast $10<sup>12</sup>, an oar $4.50<sup>12</sup>, and 3<sup>12</sup> ropes.</p>' +
      '<table><tr><td>Oar<td>4<tr style="display:none"><td>Rope<td>5</table><p hidden>Closed in <b>May</b></p><div style="display: none"> </div>',
    says: 'A raft costs $19.99, a boat 1.249,50 \u20ac, a sail 7,95\u20ac, a mast $10^12, an oar $4.50^12, and 3^12 ropes. Oar: 4',
    warnings: [/^\d+ % of the page's text was read/, /^Not read: hidden texts \(2\)\.$/],
  },
  // Boxes after their names, in cells, and in columns of a form; switches of the page.
  {
    file: 'named-before.html',
    content: main(
      '<div><label for="a">Insured</label> <input id="a" type="checkbox" checked></div><div>Licensed <input type="checkbox"></div>' +
        '<form><div><div><label>Member</label></div><div><input type="checkbox" checked></div></div></form>' +
        '<table><tr><th>Right<th>Yes<th>No<tr><th>Vote <input type="radio" checked><td><span><input type="radio" checked></span><td><div><input type="radio"></div></table>' +
        '<div><input type="checkbox" id="menu-toggle"><b>Sail.</b></div>',
    ),
    says: 'Insured [x] Licensed [ ] Member [x] Right: Vote [x]; Yes: [x]; No: [ ] Sail.',
  },
  // The label of a sum is merged across columns whose values it is none of; numbers with dashes, and a title between rows.
  {
    file: 'sums.html',
    content: main(
      '<table><tr><th>Goods<th>Count<th>Price<th>Sum<tr><td>Rope<td>2<td>5.00<td>10.00<tr><td colspan="3">Total<td>10.00</table>' +
        '<table><tr><th>Day<th>May<th>June<th>July<tr><td>1<td colspan="2">closed<td>open</table>' +
        '<table><tr><td rowspan="2">Boat<td colspan="2">Raft<td colspan="2">Tug<tr><td>EUR<td>USD<td>EUR<td>USD' +
        '<tr><td>A-1<td>5.00<td>6.00<td>7.00<td>\u2014<tr><td colspan="5">Old boats<tr><td>B-2<td>n/a<td>2 kg/m3<td>3.00<td>4.00</table>' +
        '<table><tr><td><td>2022<td>2023<td><td>2024<tr><td>Fees<td>1<td>2<td><td>3</table>' +
        '<p>A sail costs \u20ac 99.<sup>00</sup>, a mast 19,<sup>95</sup> \u20ac, an oar \u20ac 5.<sup>12</sup></p>' +
        '<p><sup>1</sup>Port of Aby, <sup>2</sup>Yard, <sup>14</sup>C</p>',
    ),
    lines: [
      'Goods: Rope; Count: 2; Price: 5.00; Sum: 10.00',
      'Total; Sum: 10.00',
      'Day: 1; May: closed; June: closed; July: open',
      'Boat: A-1; Raft EUR: 5.00; Raft USD: 6.00; Tug EUR: 7.00; Tug USD: \u2014',
      'Old boats',
      'Boat: B-2; Raft EUR: n/a; Raft USD: 2 kg/m3; Tug EUR: 3.00; Tug USD: 4.00',
      'Fees; 2022: 1; 2023: 2; 2024: 3',
      'A sail costs \u20ac 99.00, a mast 19,95 \u20ac, an oar \u20ac 5.[12]',
      '[1] Port of Aby, [2] Yard, 14C',
    ],
  },
]
