import type { FidelityCase } from '../contract.ts'

const OPERATORS = [
  'Use `a != b` to compare, or `obj?.name` to read it. Open https://example.org/search?q=boat&lang=en in a browser.',
  'The exit code is in `$?` and the last job in `$!`, not in `$#`. Yahoo!Finance and Jeopardy!-style quizzes. What?! Really?No.',
  'The glob `!node_modules/**` excludes. `if (!ok) return` stops. Node.js v20.Alpha is out. It was so.[3] Then not.',
]
const HARBOUR = '港の管理人は毎朝六時に灯台の明かりを消します。船が着くと、まず料金を集めます！嵐の日には誰も出ませんか？'
const RIVER = '北京的船夫每天早晨都在河边等候客人。冬天河面结冰，没有一条船能够通过！到了春天，河水又流动起来。'
const THAI = 'เรือข้ามฟากออกจากท่าทุกสิบห้านาทีและใช้เวลาข้ามแม่น้ำประมาณห้านาทีผู้โดยสารจ่ายเงินบนเรือ'

/** Texts whose sentences and words are not bounded by spaces. */
export const SPLITTING_CASES: readonly FidelityCase[] = [
  {
    file: 'operators.md',
    content: OPERATORS.join('\n\n'),
    says: OPERATORS.join('\n').replaceAll('`', ''),
    has: [
      'a != b',
      'search?q=boat&lang=en',
      'Yahoo!Finance',
      'Really?No.',
      '!node_modules/**',
      'if (!ok) return',
      'v20.Alpha',
      'so.[3] Then',
    ],
  },
  // Passages of one word: each sentence is cut, none inside an operator.
  { file: 'operators.txt', content: OPERATORS.join('\n\n'), says: OPERATORS.join('\n'), words: 4 },
  { file: 'harbour.txt', content: HARBOUR, says: HARBOUR },
  { file: 'harbour.md', content: `# 港\n\n${HARBOUR.repeat(12)}`, characters: [190, 300], joined: HARBOUR.repeat(12) },
  { file: 'river.html', content: `<p>${RIVER.repeat(14)}</p>`, characters: [190, 300], joined: RIVER.repeat(14) },
  { file: 'ferry.txt', content: THAI.repeat(14), characters: [190, 300], joined: THAI.repeat(14) },
  {
    file: 'mixed.md',
    content: `${'TensorFlow框架支持GPU加速训练。'.repeat(60)}`,
    characters: [150, 500],
    joined: 'TensorFlow框架支持GPU加速训练。'.repeat(60),
  },
]
