import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createListener } from '../../src/platform/db/listener.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { fareOf } from '../api/reseller-calls.ts'
import { seedApi } from '../api/seed.ts'
import { available, gone, passSeconds, record } from '../fares/fare-fixtures.ts'
import { place, sync } from '../routes/sync-fixtures.ts'
import { startApi } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, manyCells, resellerWith } from '../watches/watch-fixtures.ts'
import {
  axeFaults,
  canBrowse,
  DOCS_PATHS,
  OPERATOR_PATHS,
  openPage,
  openPanels,
  press,
  RESELLER_PATHS,
  shows,
} from './browser.ts'

const PHONE = { width: 390, height: 844 }

/** What is wider than the screen, or cut by a box that holds it: text that cannot be read on a phone. */
const CLIPPED = `[...document.querySelectorAll('body, nav, header, main, .scroll, table, .card, .panel, footer')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 || element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.tagName + '.' + element.className + ' ' + element.scrollWidth)`

/** Resolves when nothing of the view is loading any more. */
async function loaded(page: Page): Promise<void> {
  await until('the view', async () => (await page.getByText('Loading …').count()) === 0)
}

/** Opens the panels and the first record of a view. */
async function openAll(page: Page): Promise<void> {
  await openPanels(page)
  const closed = page.locator('main [aria-expanded=false]').first()
  if ((await closed.count()) > 0) await closed.click()
  await loaded(page)
}

/** The API with streams that last, and notifications. */
async function startLiveApi(db: Db, url: string): Promise<string> {
  const listener = createListener({ url, log: silentLog })
  onTestFinished(() => listener.close())
  return startApi(db, { listener, streams: { lasting: true } })
}

describe.runIf(canBrowse)('the page in a browser', () => {
  it.for(['desk', 'phone'])(
    'breaks no serious rule of accessibility on a %s, and clips nothing on a phone',
    async (screen, { db }) => {
      const { keys } = await seedApi(db)
      const base = await startApi(db)
      const faults: string[] = []
      for (const { key, paths } of [
        { paths: ['/', ...DOCS_PATHS] },
        { key: keys.operator, paths: OPERATOR_PATHS.map((path) => `/#/${path}`) },
        { key: keys.alpha, paths: RESELLER_PATHS.map((path) => `/#/${path}`) },
      ]) {
        const { page } = await openPage({ base, ...(key && { key }) })
        if (screen === 'phone') await page.setViewportSize(PHONE)
        for (const path of paths) {
          await page.goto(base + path)
          await loaded(page)
          if (screen === 'desk' || DOCS_PATHS.includes(path)) await openAll(page)
          const clipped = screen === 'phone' ? await page.evaluate<string[]>(CLIPPED) : []
          const found = [...clipped, ...(await axeFaults(page))]
          faults.push(...found.map((fault) => `${path}: ${fault}`))
        }
      }
      expect(faults).toEqual([])
    },
  )

  it('shows ten thousand watches, of which it renders those in view', async ({ db }) => {
    const resellerId = await resellerWith(db, manyCells(10_000))
    const { text } = await createApiKey(db, { resellerId })
    const { page, complaints } = await openPage({
      base: await startApi(db),
      key: text,
      path: '#/watches',
    })

    await page.getByText('10,000 watches').last().waitFor()
    const list = page.getByRole('list', { name: 'Watches' })
    const rendered = await list.getByRole('listitem').count()
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await list.locator('[aria-posinset="10000"]').waitFor()

    expect(rendered).toBeLessThan(60)
    expect(complaints).toEqual([])
  })

  it('shows names from the upstream as text', async ({ db }) => {
    const hostile = '<img src=x onerror=alert(1)>'
    const [departure, destination] = ['PMI', 'MAD'].map((id) => place(id, { city: hostile }))
    await sync(db, [{ departure, destination }] as Route[])
    const { text } = await createApiKey(db, { resellerId: null })
    const { page, complaints } = await openPage({
      base: await startApi(db),
      key: text,
      path: '#/map',
    })
    page.on('dialog', (dialog) => void dialog.dismiss().then(() => complaints.push('a script ran')))

    await page.getByRole('application', { name: /World map/ }).focus()
    await until('the place', async () => {
      await page.keyboard.press('Enter')
      return (await page.getByRole('heading', { name: hostile }).count()) === 1
    })
    await page.locator('.hover').getByText(hostile).waitFor()
    expect(complaints).toEqual([])
  })

  it('imports a file after it has shown what would change', async ({ db }) => {
    const { id } = await createReseller(db, 'ana')
    const { text } = await createApiKey(db, { resellerId: id })
    const { page, complaints } = await openPage({
      base: await startApi(db),
      key: text,
      path: '#/watches',
    })
    const csv =
      'reference,flight_id,residents_adults,non_residents_adults\nA-1,101,0,1\nA-2,102,0,2\n'

    const choose = (given: string) =>
      page
        .getByLabel('Drop a CSV file')
        .setInputFiles({ name: 'summer.csv', mimeType: 'text/csv', buffer: Buffer.from(given) })

    await shows(page, 'You watch nothing yet.')
    await choose(csv.replace(',0,2', ',0,two'))
    await press(page, 'Preview')
    await shows(page, 'Row 3, column non_residents_adults')
    await choose(csv)
    await press(page, 'Preview')
    await shows(page, '2 watches would be added')
    await press(page, 'Import')

    await page.getByRole('link', { name: /A-2/ }).waitFor()
    // Of the file that is refused.
    expect(complaints).toEqual([expect.stringContaining('status of 400')])
  })

  it('finds a known flight, shows a doubt before it adds a watch, and opens its page', async ({
    db,
  }) => {
    const { keys } = await seedApi(db)
    const { page, complaints } = await openPage({
      base: await startApi(db),
      key: keys.alpha,
      path: '#/watches/summer',
    })

    await press(page, 'Add a watch')
    await page.getByLabel('Find').fill('nowhere')
    await shows(page, '0 flights', true)
    await page.getByLabel('Find').fill('pmi')
    await page.getByRole('button', { name: /PMI →/ }).first().click()
    const picked = await page.getByLabel('Outbound flight id').inputValue()
    await page.getByLabel('Outbound flight id').fill('LH123')
    await page.getByLabel('Reference').fill('mine')
    await page.getByRole('button', { name: 'Add a watch' }).last().click()
    await shows(page, 'is no number, as the flight ids of the upstream are')
    await press(page, 'Add it all the same')

    await page
      .getByRole('region', { name: 'mine' })
      .getByRole('heading', { name: 'Checks' })
      .waitFor()
    expect(page.url()).toMatch(/#\/watches\/summer\/mine$/)
    expect(picked).toMatch(/^\d+$/)
    expect(complaints).toEqual([])
  })

  it('shows a fare on a page of its own, with its price, records, deliveries and next check', async ({
    db,
  }) => {
    const { keys } = await seedApi(db)
    const { page, complaints } = await openPage({
      base: await startApi(db),
      key: keys.alpha,
      path: '#/watches/summer/A-1',
    })

    await page.getByRole('img', { name: /^Prices; the last one is/ }).waitFor()
    await page.getByRole('heading', { name: 'Records' }).waitFor()
    await page.locator('.feed button').first().click()
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor()
    await shows(page, 'Next check')

    expect(complaints).toEqual([])
  })

  it('edits a watch in place, and keeps what was not changed, or was by others since', async ({
    db,
  }) => {
    const paid = { paid_amount: '120', paid_currency: 'EUR', price_drop_percent: '5' }
    const id = await resellerWith(db, [
      cells({ min_interval_seconds: '600', priority: 'high', ...paid }),
    ])
    const { text } = await createApiKey(db, { resellerId: id })
    const base = await startApi(db)
    const { page, complaints } = await openPage({ base, key: text, path: '#/watches/summer/A-1' })
    const settings = async () => {
      const { rows } = await sql`
        select min_interval_seconds as seconds, priority, paid_amount as paid, price_below_amount as below from watch
      `.execute(db)
      return rows[0]
    }

    await press(page, 'Edit')
    expect(await page.getByLabel('Priority').inputValue()).toBe('high')
    await page.getByLabel('Priority').selectOption('urgent')
    await page.getByLabel('Notify of a price below').fill('80')
    await page.getByLabel('in the currency').first().fill('EUR')
    await press(page, 'Save')
    await page.getByRole('button', { name: 'Edit' }).waitFor()
    await page
      .locator('dt', { hasText: 'Notify of a price below' })
      .locator('+ dd', { hasText: '80.00' })
      .waitFor()

    const kept = { seconds: 600, priority: 'urgent' }
    expect(await settings()).toEqual({ ...kept, paid: '120.00', below: '80.00' })

    await press(page, 'Edit')
    for (const label of ['Notify of a price below', 'Paid', 'or by this percentage']) {
      await page.getByLabel(label, { exact: true }).fill('')
    }
    for (const at of [0, 1]) await page.getByLabel('in the currency').nth(at).fill('')
    await sql`update watch set min_interval_seconds = 900`.execute(db)
    await press(page, 'Save')
    await page.getByRole('button', { name: 'Edit' }).waitFor()

    expect(await settings()).toEqual({ ...kept, seconds: 900, paid: null, below: null })
    expect(complaints).toEqual([])
  })

  it('shows a change by itself, also after its stream was lost', async ({ db, databaseUrl }) => {
    const { keys } = await seedApi(db)
    const base = await startLiveApi(db, databaseUrl)
    const { page } = await openPage({ base, key: keys.alpha, path: '#/changes' })
    const fareId = await fareOf(db, '101')

    await shows(page, 'live', true)
    await record(db, fareId, new Date(), gone)
    await passSeconds(db, 20)
    await record(db, fareId, new Date(), gone)
    await shows(page, /sold out/)
    await page.context().setOffline(true)
    // Later than ten minutes after the loss, one answer suffices.
    await passSeconds(db, 600)
    await record(db, fareId, new Date(), available('77.70'))
    await page.context().setOffline(false)

    await shows(page, 'can be booked for 77.70 EUR')
  })
})
