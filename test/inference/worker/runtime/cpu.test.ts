import t from 'tap'
import { DTYPES } from '../../../../models/dtypes.ts'
import { vnniWarning } from '../../../../src/inference/worker/runtime/cpu.ts'

const WITHOUT = 'flags\t\t: fpu sse2 avx2 avx512f\n'

t.test("VNNI by the kernel's list of flags", (t) => {
  const warning = (cpuinfo: string) => vnniWarning({ dtype: 'int8', graphs: { encoder: null } }, cpuinfo)
  t.equal(warning('processor\t: 0\nflags\t\t: fpu sse2 avx2 avx512f avx512_vnni avx512_bitalg\n'), undefined)
  t.equal(warning('flags\t\t: fpu avx2 avx_vnni\nbugs\t\t:\n'), undefined)
  t.match(warning(WITHOUT), /^The model is a build in int8, and this CPU has no VNNI/)
  t.equal(warning('Features\t: fp asimd\n'), undefined, 'not an x86')
  t.end()
})

t.test('only products with one scale per row need VNNI', (t) => {
  const needing = (encoder: string | null) => DTYPES.filter((dtype) => vnniWarning({ dtype, graphs: { encoder } }, WITHOUT) !== undefined)
  t.same(needing(null), ['int8', 'int8+int4'])
  t.same(needing('encoder.onnx'), ['int8', 'int8+int4', 'int4'], 'int4 has such products in the cross-attention')
  t.end()
})
