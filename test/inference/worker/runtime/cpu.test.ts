import t from 'tap'
import { DTYPES } from '../../../../models/dtypes.ts'
import { hasVnni, needsVnni } from '../../../../src/inference/worker/runtime/cpu.ts'

t.test("VNNI by the kernel's list of flags", (t) => {
  t.equal(hasVnni('processor\t: 0\nflags\t\t: fpu sse2 avx2 avx512f avx512_vnni avx512_bitalg\n'), true)
  t.equal(hasVnni('flags\t\t: fpu avx2 avx_vnni\nbugs\t\t:\n'), true)
  t.equal(hasVnni('flags\t\t: fpu sse2 avx2 avx512f\n'), false)
  t.equal(hasVnni('Features\t: fp asimd\n'), undefined, 'not an x86')
  t.end()
})

t.test('only products with one scale per row need VNNI', (t) => {
  const needing = (encoder: string | null) => DTYPES.filter((dtype) => needsVnni({ dtype, graphs: { encoder } }))
  t.same(needing(null), ['int8', 'int8+int4'])
  t.same(needing('encoder.onnx'), ['int8', 'int8+int4', 'int4'], 'int4 has such products in the cross-attention')
  t.end()
})
