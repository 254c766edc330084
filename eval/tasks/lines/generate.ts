import { at } from '../../../base/at.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'

const ADJECTIVES =
  'amber ancient brave bright calm clever cold crimson curious daring eager early elegant faint fancy fierce gentle giant golden grand happy hidden honest humble icy jolly keen large lively lonely loud lucky mellow merry mighty misty modern narrow noble odd patient plain polite proud quick quiet rapid rare royal rustic shy silent silver simple sleepy small smooth soft solid steady strange sturdy swift tall tender tiny vivid warm wild wise young'.split(
    ' ',
  )
const NOUNS =
  'anchor apple arrow badge basket beacon bell blanket bottle bridge bucket button cabin candle canyon carpet castle chair cherry circle clock cloud coin compass copper cottage cradle desert diamond drum eagle engine falcon feather fence field flute forest fountain garden gate glacier harbor hammer harvest helmet island ivory jacket jewel kettle key ladder lantern lemon letter marble meadow mirror mountain needle ocean orchard paper pebble pillow planet pocket puzzle quilt ribbon river rocket saddle shell shield spoon statue stone sunset table temple thunder tower tunnel valley violin wagon walnut window winter'.split(
    ' ',
  )
const HIGHEST = 50_000

const HEADER =
  "Below is a record of lines I want you to remember. Each line begins with 'line <line index>' and contains a '<REGISTER_CONTENT>' at the end of the line as a numerical value. For each line index, memorize its corresponding <REGISTER_CONTENT>. At the end of the record, I will ask you to retrieve the corresponding <REGISTER_CONTENT> of a certain line index. Now the record start:\n\n"

export interface LinesCase {
  readonly document: string
  readonly question: string
  readonly expected: string
}

/** One case of LongChat-Lines: `count` lines with distinct names, and a question about one of them. */
export function linesCase(count: number, seed: number, index: number): LinesCase {
  const random = seededRandom('lines', seed, count, index)
  const names = sampleIndices(ADJECTIVES.length * NOUNS.length, count, random).map(
    (i) => `${at(ADJECTIVES, Math.floor(i / NOUNS.length))}-${at(NOUNS, i % NOUNS.length)}`,
  )
  const values = names.map(() => 1 + Math.floor(random() * HIGHEST))
  const asked = Math.floor(random() * names.length)
  return {
    document: HEADER + names.map((name, i) => `line ${name}: REGISTER_CONTENT is <${at(values, i)}>\n`).join(''),
    question: `\nNow the record is over. Tell me what is the <REGISTER_CONTENT> in line ${at(names, asked)}? I need the number.`,
    expected: String(at(values, asked)),
  }
}

/** Maximum lines of a case: names are distinct. */
export const MOST_LINES = ADJECTIVES.length * NOUNS.length
