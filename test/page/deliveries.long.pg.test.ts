import { describe, expect, onTestFinished } from 'vitest'
import { createOpenTarget } from '../../src/delivery/endpoints/sealer.ts'
import { createTemplateFormat } from '../../src/delivery/formats/template.ts'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { createWebhookFormat } from '../../src/delivery/formats/webhook.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { fareOf, itemsOf, listWith, newCaller, watch } from '../api/reseller-calls.ts'
import { startDispatcher } from '../delivery/delivery-fixtures.ts'
import { startReceiver } from '../delivery/receiver.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { startApi, TEST_SEALER } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { canBrowse, openPage, press, shows } from './browser.ts'

const LOOPBACK = ['127.0.0.1/32']

/** The API, a dispatcher that may deliver to loopback, and a reseller with one watch and one record. */
async function start(db: Db) {
  const transport = createTransport({
    policy: { allowHttp: true, allowedNetworks: LOOPBACK },
    scrub: (text) => text,
  })
  onTestFinished(() => transport.close())
  const dispatcher = startDispatcher(db, {
    formats: [createWebhookFormat({ transport }), createTemplateFormat({ transport })],
    openTarget: createOpenTarget(TEST_SEALER),
  })
  const base = await startApi(db, { allowedNetworks: LOOPBACK })
  const calls = await newCaller(db, base, 'northwind')
  await listWith(calls, 'summer', [watch('A-1')])
  return { base, dispatcher, calls }
}

describe.runIf(canBrowse)('the Deliveries view', () => {
  it('adds an endpoint, shows its secrets once, its failure, and that it works after a retry', async ({
    db,
  }) => {
    const { base, dispatcher, calls } = await start(db)
    const statuses = [503]
    await using receiver = await startReceiver((_request, response) => {
      response.writeHead(statuses.shift() ?? 204)
      response.end(response.statusCode === 503 ? 'upgrading' : undefined)
    })
    const { page, complaints } = await openPage({ base, key: calls.key, path: '#/deliveries' })
    page.on('dialog', (dialog) => void dialog.accept())
    const deliver = async (count: number) => {
      await dispatcher.dispatch()
      await dispatcher.recorded(count)
    }

    await page.getByText('Add an endpoint').click()
    await page.getByLabel('An https address').fill(`${receiver.url}/hooks/fares`)
    await press(page, 'Add', true)
    const secret = await page.getByText(/^whsec_/).textContent()
    await press(page, 'I have saved it', true)
    await press(page, 'Test', true)
    await shows(page, 'A test event is on its way.')
    await deliver(1)
    await shows(page, 'the server failed, status 503')
    await shows(page, 'upgrading')
    await page.getByText('More actions').click()
    await press(page, 'Retry now', true)
    await shows(page, '1 failed delivery is tried again now.')
    await deliver(2)
    await shows(page, 'works')
    await press(page, 'Details: a test', true)
    await shows(page, '"type": "webhook.test"')
    await shows(page, 'accepted, status 204')
    await page
      .getByRole('group', { name: 'Actions' })
      .getByRole('combobox')
      .selectOption('no longer available')
    await press(page, 'Test', true)
    await shows(page, 'An example without a number is on its way.')
    await deliver(3)
    await press(page, 'New secret', true)
    await shows(page, /^whsec_/)

    expect(await page.getByText(/^whsec_/).textContent()).not.toBe(secret)
    expect(
      receiver.requests.map(({ body }) => (JSON.parse(body) as { type: string }).type),
    ).toEqual(['webhook.test', 'webhook.test', 'example.became_unavailable'])
    expect(complaints).toEqual([])
  })

  it('changes what an endpoint receives, sends records again from a number, and deletes it after a question', async ({
    db,
  }) => {
    const { base, dispatcher, calls } = await start(db)
    await using receiver = await startReceiver()
    const target = `${receiver.url}/hooks/fares`
    const { body } = await calls.send('POST', '/webhook-endpoints', { target })
    await record(db, await fareOf(db, '101'), new Date(), available())
    await dispatcher.dispatch()
    await dispatcher.recorded(1)
    const endpoint = async () => (await calls.get(`/webhook-endpoints/${String(body.id)}`)).body
    const { page } = await openPage({
      base,
      key: calls.key,
      path: `#/deliveries/${String(body.id)}`,
    })
    const answers = [false, true]
    page.on('dialog', (dialog) => void (answers.shift() ? dialog.accept() : dialog.dismiss()))

    await page.getByRole('row', { name: /number 1, A-1 watched from now on .*delivered/ }).waitFor()
    await page.getByText('More actions').click()
    await press(page, 'Send again', true)
    await shows(page, '1 delivery is sent again.')
    await dispatcher.dispatch()
    await dispatcher.recorded(2)
    await page.getByText('What it receives').click()
    await page.getByLabel('it sells out').check()
    await page.getByLabel('summer').check()
    await page.getByLabel('its price falls below').fill('cheap')
    await press(page, 'Save')
    await shows(page, /^amount must match/)
    await page.getByLabel('its price falls below').fill('99.50')
    await page.getByLabel('Currency').fill('eur')
    await page.getByLabel('Currency').press('Enter')
    await shows(page, 'Saved.')
    await shows(page, 'the records chosen below')
    const saved = await endpoint()
    await press(page, 'Disable')
    await shows(page, 'disabled by you')
    await press(page, 'Delete')
    const kept = itemsOf(await calls.get('/webhook-endpoints')).length
    await press(page, 'Delete')
    await shows(page, 'No endpoint yet.')

    expect(receiver.requests).toHaveLength(2)
    expect(saved).toMatchObject({
      lists: ['summer'],
      rules: { soldOut: true, priceBelow: { amount: '99.50', currency: 'EUR' } },
      kinds: null,
      reasons: null,
    })
    expect(kept).toBe(1)
  })
})
