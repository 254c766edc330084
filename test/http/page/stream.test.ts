import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { speakingReader, testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser, openPassages } from './browser.ts'

const WORDS = ['the', ' black', ' sea']

/** The page of a service whose reader says a word when it is let go. */
async function openPage(t: Test) {
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
  const { page, ask, held, says, words } = await openPage(t)
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
  const { page, ask, says, words, left } = await openPage(t)
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
  const { page, ask, held, says, words } = await openPage(t)
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
  const { page, ask, held, says, words } = await openPage(t)
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
