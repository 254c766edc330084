import t from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { createAdmission } from '../../../src/inference/pool/admission.ts'

function open(options: { maxWaiting?: number; concurrency?: number; disruptions?: () => number } = {}) {
  let time = 0
  const admission = createAdmission({ maxWaiting: 64, concurrency: 1, now: () => time, ...options })
  const refused = (question: Parameters<typeof admission.enter>[0]): CodedError | undefined => {
    try {
      admission.enter(question)
      return undefined
    } catch (error) {
      return error instanceof CodedError ? error : undefined
    }
  }
  /** Answers `count` questions of cost 1, one after the other. */
  const answer = (count: number, ms: number, kind?: string): void => {
    for (let i = 0; i < count; i++) {
      const permit = admission.enter({ cost: 1, ...(kind !== undefined && { kind }) })
      time += ms
      permit.release(true)
    }
  }
  const pass = (ms: number): void => void (time += ms)
  return { admission, refused, answer, pass }
}

t.test('a burst: as many as may wait are let in, and every other is told when to come back', (t) => {
  const { refused } = open()
  const burst = Array.from({ length: 200 }, () => refused({ cost: 1, deadlineMs: 120_000 }))
  t.equal(burst.filter((error) => error === undefined).length, 65)
  t.ok(burst.every((error) => error === undefined || (error.code === 'overloaded' && (error.retryAfterS ?? 0) >= 1)))
  t.end()
})

t.test('what would wait past its deadline is refused at the door, by the rate of late', (t) => {
  const { refused, answer } = open()
  answer(20, 100)
  const burst = Array.from({ length: 64 }, () => refused({ cost: 1, deadlineMs: 1000 }))
  t.equal(burst.filter((error) => error === undefined).length, 9, 'nine in 900 ms')
  t.match(burst[9], { code: 'overloaded', message: /the deadline 1 s/, retryAfterS: 1 })
  t.equal(burst.at(-1)?.retryAfterS, 6, 'a crowd is told to come back one after the other')
  t.equal(refused({ cost: 1, deadlineMs: 120_000 }), undefined, 'who has time may wait')
  t.end()
})

t.test('a question that meets a free place is never refused, however slow those before it were', (t) => {
  const { refused, answer } = open()
  answer(20, 5000)
  t.equal(refused({ cost: 1, deadlineMs: 1000 }), undefined)
  t.end()
})

t.test('one client cannot keep others out: each may hold its share of a full house', (t) => {
  const { refused } = open({ maxWaiting: 9 })
  const enter = (client: string, times: number) =>
    Array.from({ length: times }, () => refused({ client, cost: 1 })).filter((error) => error === undefined).length
  t.equal(enter('greedy', 50), 10)
  t.equal(enter('other', 50), 5)
  t.equal(enter('third', 50), 4)
  t.ok(enter('fourth', 50) <= 1, 'twice as many in all')
  t.end()
})

t.test("others' work counts up to a client's own, since clients are served in equal parts", (t) => {
  const { refused, answer } = open()
  answer(20, 100)
  for (let i = 0; i < 20; i++) refused({ client: 'greedy', cost: 1 })
  t.equal(refused({ client: 'other', cost: 1, deadlineMs: 1000 }), undefined)
  t.match(refused({ client: 'greedy', cost: 1, deadlineMs: 1000 }), { code: 'overloaded' })
  t.end()
})

t.test('late questions narrow the door, those in time open it again', (t) => {
  const { admission, refused, answer, pass } = open()
  const letIn = (): number => {
    const permits = []
    while (permits.length < 60) {
      try {
        // Between the ends of nine and of ten.
        permits.push(admission.enter({ cost: 1, deadlineMs: 1050 }))
      } catch {
        break
      }
    }
    for (const permit of permits) permit.release(false)
    return permits.length
  }
  answer(60, 100)
  const before = letIn()
  const late = Array.from({ length: 5 }, () => admission.enter({ cost: 1, deadlineMs: 1000 }))
  pass(1000)
  for (const permit of late) permit.release(false)
  const after = letIn()
  t.ok(after > 0 && after < before, `${before}, then ${after}`)
  answer(60, 100)
  t.equal(letIn(), before)
  t.equal(refused({ cost: 1, deadlineMs: 1000 }), undefined)
  t.end()
})

t.test('a place is given back once', (t) => {
  const { admission, refused } = open({ maxWaiting: 0 })
  const permit = admission.enter({ cost: 1 })
  t.match(refused({ cost: 1 }), { code: 'overloaded' })
  permit.release(false)
  permit.release(false)
  t.equal(refused({ cost: 1 }), undefined)
  t.match(refused({ cost: 1 }), { code: 'overloaded' })
  t.end()
})

t.test('what takes long because a process hung is not learned', (t) => {
  let disruptions = 0
  const { admission, refused, answer, pass } = open({ disruptions: () => disruptions })
  answer(20, 100)
  for (let hang = 0; hang < 5; hang++) {
    const late = admission.enter({ cost: 1, deadlineMs: 10_000 })
    disruptions++
    pass(60_000)
    late.release(false)
    const answered = admission.enter({ cost: 1 })
    pass(60_000)
    disruptions++
    answered.release(true)
  }
  const burst = Array.from({ length: 64 }, () => refused({ cost: 1, deadlineMs: 1000 }))
  t.equal(burst.filter((error) => error === undefined).length, 9, 'as many as before')
  t.end()
})

t.test('each kind of question is estimated by its own rate, waiting ones of other kinds by theirs', (t) => {
  const { refused, answer } = open({ maxWaiting: 200 })
  answer(20, 5000, 'slow')
  answer(3, 10, 'cheap')
  const burst = (kind: string, count: number, deadlineMs: number) =>
    Array.from({ length: count }, () => refused({ kind, cost: 1, deadlineMs })).filter((error) => error === undefined).length
  t.equal(burst('cheap', 120, 2000), 120, '1.2 s of cheap ones')
  t.equal(burst('slow', 3, 12_500), 2, '1.2 s and 10 s of 11.25 s')
  t.equal(burst('cheap', 10, 12_500), 5, '5 x 10 ms are left of 11.25 s')
  t.match(refused({ kind: 'slow', cost: 1, deadlineMs: 12_500 }), { retryAfterS: 11 }, '5 s, 5 x 10 ms and 5 s were refused')
  t.end()
})

t.test('kinds that run at the same time, and clients that overtake, do not change the rates of others', (t) => {
  const { admission, refused, pass } = open({ concurrency: 2 })
  for (let round = 0; round < 3; round++) {
    const slow = admission.enter({ kind: 'slow', cost: 1, client: 'a' })
    const waiting = admission.enter({ kind: 'cheap', cost: 1, client: 'a' })
    const last = admission.enter({ kind: 'slow', cost: 1, client: 'a' })
    const overtaking = admission.enter({ kind: 'cheap', cost: 1, client: 'b' })
    for (const cheap of [waiting, overtaking]) {
      pass(100)
      cheap.release(true)
    }
    pass(9800)
    slow.release(true)
    pass(200)
    last.release(true)
  }
  const letIn = (kind: string, deadlineMs: number) =>
    Array.from({ length: 40 }, () => refused({ kind, client: kind, cost: 1, deadlineMs })).filter((error) => error === undefined).length
  t.equal(letIn('cheap', 1050), 18, '50 ms each in 945 ms')
  t.equal(letIn('slow', 12_500), 2, '5 s each, after 0.9 s, in 11.25 s')
  t.end()
})
