import type { Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { heldReader, testApp, speakingReader } from '../helpers.ts'
import { library } from './library.ts'
import { answered, noBrowser, openBrowser, openPassages } from './browser.ts'
import { setTimeout as sleep } from 'node:timers/promises'

/** The page of a service whose reader answers, or fails, when it is let go. */
async function openPage(t: Test) {
  const { held, answering } = heldReader()
  const { app } = await testApp(t, { answering })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const page = await (await openBrowser(t, { viewport: { width: 1280, height: 720 } })).newPage()
  await page.goto(url)
  await page.getByText('6 passages').waitFor()
  const ask = async (question: string): Promise<void> => {
    await page.locator('#question').fill(question)
    const sent = page.waitForRequest('**/v1/answer')
    await page.keyboard.press('Enter')
    await sent
  }
  const next = async () => {
    for (;;) {
      const one = held.shift()
      if (one !== undefined) return one
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return { page, ask, next }
}

/** Pixels between the lower edge of one element and the upper edge of another. */
function below(upper: string, lower: string): string {
  return `document.querySelector('${lower}').getBoundingClientRect().top - document.querySelector('${upper}').getBoundingClientRect().bottom`
}

t.test(
  'a question that fails: no answer of another stands below it, and the error is beside the button',
  { skip: noBrowser },
  async (t) => {
    const { page, ask, next } = await openPage(t)
    await ask('first')
    const first = await next()
    first.go()
    await answered(page)
    t.equal(await page.locator('#answer').textContent(), 'yes')

    await page.route('**/v1/answer', async (route) => {
      t.notOk(await page.locator('#answer').isVisible(), 'the old answer is gone before the new one is there')
      await route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'It broke.', request_id: 'r-7' } } })
    })
    await ask('second')
    await page.locator('#problem', { hasText: 'It broke.' }).waitFor()
    t.match(await page.locator('#problem').innerText(), 'Request ID r-7')
    t.notOk(await page.locator('#result').isVisible())
    const gap = await page.evaluate<number>(below('#go', '#problem'))
    t.ok(gap >= 0 && gap < 40, `${gap} pixels below the button`)

    await page.unroute('**/v1/answer')
    await ask('third')
    const third = await next()
    t.notOk(await page.locator('#problem').isVisible())
    third.fail(new CodedError('deadline_exceeded', 'It took too long.'))
    await page.locator('#problem', { hasText: 'It took too long.' }).waitFor()
    t.ok(await page.evaluate('document.querySelector("#problem").getBoundingClientRect().bottom < window.innerHeight'))
  },
)

/** The page of a service whose answers to questions are those given, one after another, and the last one again. */
async function openAnswering(t: Test, ...answers: ((route: Route) => Promise<void>)[]) {
  const { url } = await library(t)
  const context = await openBrowser(t)
  const page = await context.newPage()
  let asked = 0
  await page.route('**/v1/answer', (route) => (answers[Math.min(asked++, answers.length - 1)] ?? ((one) => one.continue()))(route))
  await page.goto(url)
  await page.getByText('4 passages').waitFor()
  await page.locator('#question').fill('what is it')
  await page.keyboard.press('Enter')
  const problem = page.locator('#problem')
  return { page, context, problem, asked: () => asked }
}

t.test("a response that is not the service's, or cut off, is said in words wherever it comes", { skip: noBrowser }, async (t) => {
  const words = 'The answer did not arrive whole, or is not of this service. Try again.'
  const bodies = ['<html>Log in</html>', '{"answer": "ye']
  const { page, problem } = await openAnswering(t, ...bodies.map((body) => (route: Route) => route.fulfill({ status: 200, body })))
  await problem.getByText(words).waitFor()
  await page.keyboard.press('Enter')
  await problem.getByText(words).waitFor()
  t.ok(await page.locator('#result').isHidden())
  await page.route('**/v1/sources?*', (route) => route.fulfill({ status: 200, body: '<html>Log in</html>' }))
  await page.locator('#browse').click()
  await page.locator('#view [role=alert]', { hasText: words }).waitFor()
})

const failing = (status: number, code: string, retryAfter?: number) => (route: Route) =>
  route.fulfill({
    status,
    ...(retryAfter !== undefined && { headers: { 'retry-after': String(retryAfter) } }),
    json: { error: { code, message: 'In the words of the service.', request_id: 'r' } },
  })
const through = (route: Route) => route.continue()

t.test('offline: said in words, the question kept, asked again when the browser is online', { skip: noBrowser }, async (t) => {
  const { page, context, problem } = await openAnswering(t, through)
  await answered(page)
  await context.setOffline(true)
  await page.locator('#question').fill('another')
  await page.keyboard.press('Enter')
  await problem.getByText('The service cannot be reached. Your question is kept.').waitFor()
  t.equal(await page.locator('#question').inputValue(), 'another')
  t.ok(await problem.getByRole('button', { name: 'Try again' }).isEnabled())
  await context.setOffline(false)
  await answered(page)
  t.ok(await problem.isHidden())
  await context.setOffline(true)
  await page.locator('#browse').click()
  await page.locator('#view [role=alert]', { hasText: 'The service cannot be reached.' }).waitFor()
  t.equal(await page.locator('#view h2').textContent(), 'What is in here', 'what is shown stays')
  await context.setOffline(false)
  await page.getByText('4 passages from 3 sources.').waitFor()
})

t.test('busy: asked again alone, three times; Escape ends it', { skip: noBrowser }, async (t) => {
  const busy = failing(503, 'overloaded', 1)
  const first = await openAnswering(t, busy, busy, through)
  await first.problem.getByText('Many are asking at the moment. Asking again in 1 s.').waitFor()
  await answered(first.page)
  t.equal(first.asked(), 3)
  const second = await openAnswering(t, failing(503, 'not_ready', 1))
  await second.problem.getByText('The service is starting. Asking again in 1 s.').waitFor()
  await second.page.keyboard.press('Escape')
  await second.problem.getByRole('button', { name: 'Try again' }).waitFor()
  const asked = second.asked()
  await second.page.waitForTimeout(1200)
  t.equal(second.asked(), asked)
})

t.test('too many requests, and an answer that took too long', { skip: noBrowser }, async (t) => {
  const { page, problem } = await openAnswering(t, failing(429, 'rate_limited', 1), failing(504, 'deadline_exceeded'), through)
  await problem.getByText('Too many requests. Asking again is possible in 1 s.').waitFor()
  const again = problem.getByRole('button', { name: 'Try again' })
  t.ok(await again.isDisabled())
  await again.click()
  await problem.getByText('It took too long. Ask again, or ask something shorter.').waitFor()
  await again.click()
  await answered(page)
})

t.test('a collection that is not there leads to the one that is', { skip: noBrowser }, async (t) => {
  const { app } = await testApp(t)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const page = await (await openBrowser(t)).newPage()
  await page.goto(`${url}/?q=what+is+it&collection=contracts`)
  await page.locator('#problem', { hasText: 'There is no collection contracts for this key.' }).waitFor()
  await page.getByRole('link', { name: 'Ask in passages' }).click()
  await page.getByText('6 passages').waitFor()
  t.notMatch(page.url(), 'contracts')
})

t.test('an empty answer says that the passages do not, above the nearest of them', { skip: noBrowser }, async (t) => {
  const { reader } = recordingServices().services
  const silent: typeof reader.answer = async (...args) => ({ ...(await reader.answer(...args)), text: '' })
  const { services } = recordingServices()
  const { app } = await testApp(t, { answering: { ...services, reader: { ...services.reader, answer: silent } } })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const page = await (await openBrowser(t)).newPage()
  await page.goto(url)
  await page.getByText('6 passages').waitFor()
  const ask = async (): Promise<void> => {
    await page.locator('#question').fill('what is it')
    await page.keyboard.press('Enter')
    await answered(page)
  }
  await ask()
  t.equal(await page.locator('#answer').textContent(), 'The passages do not say')
  t.notOk(await page.locator('#sure').isVisible(), 'there is nothing to be confident of')
  t.equal(await page.locator('#heading').textContent(), 'The nearest passages')
  t.equal(await page.locator('#passages li').count(), 6)

  await page.getByText('Advanced').click()
  await page.locator('[name=mode]').selectOption('closed-book')
  await ask()
  t.equal(await page.locator('#answer').textContent(), 'No answer', 'where no passage was read, none is blamed')
  t.notOk(await page.locator('#heading').isVisible())
})

const WORDS = ['the', ' black', ' sea']

/** The page of a service whose reader says a word when it is let go. */
async function openSpeaking(t: Test) {
  const speaking = speakingReader(WORDS)
  const { services } = recordingServices()
  const { app } = await testApp(t, { answering: { ...services, reader: { ...services.reader, answer: speaking.answer } } })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const browser = await openBrowser(t)
  const page = await browser.newPage()
  await page.goto(url)
  await page.getByText('6 passages').waitFor()
  const ask = async (question: string): Promise<void> => {
    const next = speaking.held.length + 1
    await page.locator('#question').fill(question)
    await page.keyboard.press('Enter')
    await held(next)
  }
  const held = async (count: number): Promise<void> => {
    while (speaking.held.length < count) await sleep(5)
  }
  const says = (text: string) => page.locator('#answer').getByText(text, { exact: true }).waitFor()
  return { page, ask, held, says, words: speaking.held, left: speaking.left }
}

t.test('words are shown as they come, below them the passages that were there before', { skip: noBrowser }, async (t) => {
  const { page, ask, held, says, words } = await openSpeaking(t)
  await ask('what is it')
  await says('…')
  t.equal(await page.locator('#passages li').count(), 6)
  t.equal(await page.getByText('of the attention').count(), 0, 'attention is not known yet')
  t.equal(await page.locator('#sure').textContent(), '6 passages were found and are being read.')
  t.equal(await page.locator('#result').getAttribute('aria-busy'), 'true')
  await page.locator('#passages summary').nth(2).click()
  await page.locator('#passages summary').nth(3).click()
  for (const [i, shown] of ['the …', 'the black …'].entries()) {
    words[i]?.go()
    await says(shown)
    await held(i + 2)
  }
  words[2]?.go()
  await says('the black sea')
  await answered(page)
  t.ok(await page.locator('#sure').isVisible())
  t.equal(await page.getByText('of the attention').count(), 4, 'of those that the encoder read')
  t.equal(await page.locator('#result').getAttribute('aria-busy'), null)
  t.equal(
    await page.evaluate('[...document.querySelectorAll("#passages summary")].indexOf(document.activeElement)'),
    3,
    'a reader keeps the place',
  )
  t.same(await openPassages(page), [0, 1, 3], 'and what was opened and closed stays so')
  t.same(await page.locator('#history button').allTextContents(), ['what is it'])
})

t.test('Escape, another question and closing the page each free the reader', { skip: noBrowser }, async (t) => {
  const { page, ask, says, words, left } = await openSpeaking(t)
  const gone = async (count: number): Promise<void> => {
    while (left() < count) await sleep(5)
  }
  await ask('first')
  words[0]?.go()
  await says('the …')
  await page.keyboard.press('Escape')
  await gone(1)
  await page.locator('#problem', { hasText: 'Cancelled' }).waitFor()
  t.equal(await page.locator('#answer').textContent(), 'the …', 'what came is shown as a part')
  t.equal(await page.locator('#go').textContent(), 'Ask')
  t.same(await page.locator('#history button').allTextContents(), [])

  await ask('second')
  await ask('third')
  await gone(2)
  t.ok(await page.locator('#problem').isHidden(), 'the one that was replaced says nothing')
  await page.close()
  await gone(3)
  t.pass('the reader was told each time')
})

t.test('what fails midway is told in the words of the service', { skip: noBrowser }, async (t) => {
  const { page, ask, held, says, words } = await openSpeaking(t)
  await ask('what is it')
  words[0]?.go()
  await says('the …')
  await held(2)
  words[1]?.fail(new CodedError('deadline_exceeded', 'It took too long.'))
  await page.locator('#problem', { hasText: 'It took too long.' }).waitFor()
  t.equal(await page.locator('#passages li').count(), 6, 'the passages stay')
  t.equal(await page.locator('#go').textContent(), 'Ask')
})

t.test('where a stream is cut on the way, or not made at all, the whole answer is asked for', { skip: noBrowser }, async (t) => {
  const { page, ask, held, says, words } = await openSpeaking(t)
  const asked: unknown[] = []
  const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
  const cut = event('evidence', { evidence: [] }) + event('token', { text: 'half' })
  await page.route('**/v1/answer', (route) => {
    const body = route.request().postDataJSON() as { readonly stream?: boolean }
    asked.push(body.stream ?? false)
    return body.stream === true ? route.fulfill({ contentType: 'text/event-stream; charset=utf-8', body: cut }) : route.continue()
  })
  const answered = async (from: number): Promise<void> => {
    for (const i of WORDS.keys()) {
      await held(from + i + 1)
      words[from + i]?.go()
    }
    await says(WORDS.join(''))
  }
  await ask('what is it')
  await answered(0)
  t.same(asked, [true, false])

  await page.unroute('**/v1/answer')
  await page.route('**/v1/answer', (route) =>
    route.continue({ postData: JSON.stringify({ ...(route.request().postDataJSON() as object), stream: false }) }),
  )
  await page.locator('#question').fill('again')
  await page.keyboard.press('Enter')
  await answered(WORDS.length)
  await page.locator('#history button', { hasText: 'again' }).waitFor({ state: 'attached' })
  t.ok(await page.locator('#problem').isHidden())
})
