import t, { type Test } from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { heldReader, testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser } from './browser.ts'

/** The page of a service whose reader answers, or fails, when it is let go. */
async function openPage(t: Test) {
  const { held, answering } = heldReader()
  const { app } = await testApp(t, { answering })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const page = await (await openBrowser(t)).newPage({ viewport: { width: 1280, height: 720 } })
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
      await route.fulfill({ status: 503, json: { error: { code: 'overloaded', message: 'All readers are busy.', request_id: 'r' } } })
    })
    await ask('second')
    await page.locator('#problem', { hasText: 'All readers are busy.' }).waitFor()
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

t.test('an upload that fails is told beside its button', { skip: noBrowser }, async (t) => {
  const { page } = await openPage(t)
  await page.getByText('Key and corpus').click()
  await page.getByRole('button', { name: 'Index' }).click()
  await page.locator('#upload-problem', { hasText: 'Choose a file first.' }).waitFor()
  const gap = await page.evaluate<number>(below('#upload button', '#upload-problem'))
  t.ok(gap >= 0 && gap < 40, `${gap} pixels below the button`)
  t.notOk(await page.locator('#problem').isVisible())
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

t.test('documents and tables are uploaded as one form', { skip: noBrowser }, async (t) => {
  const { page } = await openPage(t)
  const sent: (string | undefined)[] = []
  await page.route('**/v1/admin/index-jobs', async (route) => {
    sent.push(route.request().headers()['content-type'])
    await route.fulfill({ status: 409, json: { error: { code: 'conflict', message: 'No.', request_id: 'r' } } })
  })
  await page.getByText('Key and corpus').click()
  const files = ['a.csv', 'b.md'].map((name) => ({ name, mimeType: '', buffer: Buffer.from('id,text\n1,x\n') }))
  await page.locator('#corpus').setInputFiles(files)
  await page.getByRole('button', { name: 'Index' }).click()
  await page.locator('#upload-problem', { hasText: 'No.' }).waitFor()
  t.match(sent, [/^multipart\/form-data; boundary=/])
  t.equal(sent.length, 1)
})
