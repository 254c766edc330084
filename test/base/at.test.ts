import t from 'tap'
import { sizeText } from '../../base/at.ts'

t.test('sizes are in powers of ten, with one digit more below 10 MB', (t) => {
  const sizes = [0, 999, 2_000, 999_400, 1_000_000, 3_449_999, 9_949_999, 10_000_000, 120_600_000]
  t.same(
    sizes.map((bytes) => sizeText(bytes)),
    ['0 kB', '1 kB', '2 kB', '999 kB', '1 MB', '3.4 MB', '9.9 MB', '10 MB', '121 MB'],
  )
  t.same([sizeText(1, Math.ceil), sizeText(1_010_000, Math.ceil), sizeText(10_000_001, Math.ceil)], ['1 kB', '1.1 MB', '11 MB'], 'needed')
  t.same([sizeText(1_999, Math.floor), sizeText(1_990_000, Math.floor)], ['1 kB', '1.9 MB'], 'free')
  t.end()
})
