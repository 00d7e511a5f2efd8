import { describe, expect } from 'vitest'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { ago, beginAt, fareOf, listWith, newCaller, watch } from '../api/reseller-calls.ts'
import { available, gone, record } from '../fares/fare-fixtures.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { canBrowse, openPage, press, shows } from './browser.ts'

function soldBy(url: string): LegObservation {
  const leg = available('77.00')
  if (leg.kind !== 'available') return leg
  const none = { adult: null, child: null, infant: null }
  const price = { amount: '77.00', currency: 'EUR', residents: none }
  const site = { id: '5', name: 'Saffron <b>', url }
  return {
    kind: 'available',
    flight: {
      ...leg.flight,
      price: { ...price, nonResidents: { ...none, adult: '38.50' } },
      flight: { ...leg.flight.flight, site },
    },
  }
}

describe.runIf(canBrowse)('the Watch lists view', () => {
  it('names a sold-out watch, and its filters stay in the address', async ({ db }) => {
    const base = await startApi(db)
    const calls = await newCaller(db, base, 'northwind')
    await listWith(calls, 'summer', [watch('A-1'), watch('A-2', { flightId: '102' })])
    await beginAt(db, calls, ago(30))
    await record(db, await fareOf(db, '101'), new Date(), available('77.00'))
    const soldOut = await fareOf(db, '102')
    await record(db, soldOut, ago(20), available('120.00'))
    await record(db, soldOut, ago(11), gone)
    await record(db, soldOut, ago(10), gone)
    const { page, complaints } = await openPage({ base, key: calls.key, path: '#/watches/summer' })
    const rows = page.getByRole('list', { name: 'Watches' }).getByRole('listitem')

    await page.getByText('2 watches').last().waitFor()
    await page.getByRole('img', { name: /77\.00/ }).waitFor()
    const row = await rows.filter({ hasText: 'A-2' }).textContent()
    await page.getByText('Filters').click()
    await page.getByLabel('State').selectOption('not bookable')
    await shows(page, '1 watch', true)
    await page.getByLabel('Place').fill('mad')
    await page.getByLabel('Place').press('Enter')
    await page.waitForURL(/place=mad/)
    await rows.getByRole('link', { name: /PMI → MAD/ }).click()
    await shows(page, 'Last price')
    await page.reload()
    await shows(page, 'Last price')
    const facts = await page.getByRole('region', { name: 'A-2' }).textContent()

    expect(row?.replaceAll('\u00A0', ' ')).toMatch(/PMI → MAD.*was 120\.00 EUR.*not bookable/s)
    expect(facts?.replaceAll('\u00A0', ' ')).toMatch(/PMI → MAD, .*120\.00 EUR/s)
    expect(page.url()).toMatch(/#\/watches\/summer\/A-2\?state=not_bookable&place=mad$/)
    await page.getByRole('link', { name: '‹ summer' }).click()
    await shows(page, '1 watch', true)
    await page.getByLabel('Place').fill('nowhere')
    await page.getByLabel('Place').press('Enter')
    await shows(page, 'No watch matches.')
    await press(page, 'Clear the filters')
    await page.getByText('2 watches').last().waitFor()
    expect(page.url()).toMatch(/#\/watches\/summer$/)
    expect(complaints).toEqual([])
  })

  it('says who sells a flight and what an adult pays, and links an address only if it is https', async ({
    db,
  }) => {
    const base = await startApi(db)
    const calls = await newCaller(db, base, 'northwind')
    await listWith(calls, 'summer', [watch('A-1'), watch('A-2', { flightId: '102' })])
    await beginAt(db, calls, ago(30))
    await record(db, await fareOf(db, '101'), new Date(), soldBy('https://saffron.example/'))
    await record(db, await fareOf(db, '102'), new Date(), soldBy('javascript:alert(1)'))

    const { page } = await openPage({ base, key: calls.key, path: '#/watches/summer/A-1' })
    const link = page.getByRole('link', { name: 'Saffron <b>' })
    await link.waitFor()
    const first = await page.getByRole('region', { name: 'A-1' }).textContent()
    await page.goto(`${base}/#/watches/summer/A-2`)
    await shows(page, 'javascript:alert(1)')

    expect(first?.replaceAll('\u00A0', ' ')).toContain('sold by Saffron <b>, 38.50 EUR an adult')
    expect(await link.count()).toBe(0)
  })

  it('makes a link that shows a watch without a key, and revokes it', async ({ db }) => {
    const base = await startApi(db)
    const calls = await newCaller(db, base, 'northwind')
    await listWith(calls, 'summer', [watch('A-1')])
    await beginAt(db, calls, ago(30))
    await record(db, await fareOf(db, '101'), new Date(), soldBy('javascript:alert(1)'))
    const { page, complaints } = await openPage({
      base,
      key: calls.key,
      path: '#/watches/summer/A-1',
    })

    await press(page, 'Make a link for a customer')
    const link = page.getByRole('link', { name: /watch-links/ })
    const address = new URL((await link.getAttribute('href')) ?? '').pathname
    await shows(page, '1 link is good')
    const shown = await fetch(`${base}${address}`)
    await page.goto(`${base}${address}`)
    const heading = await page.getByRole('heading', { name: 'PMI → MAD' }).textContent()
    const text = await page.locator('main').textContent()
    await page.goBack()
    await press(page, 'Revoke')
    await page.getByText('1 link is good').waitFor({ state: 'detached' })

    expect(shown.status).toBe(200)
    expect(heading).toContain('PMI → MAD')
    expect(text).toContain('77.00 EUR')
    expect(text).not.toMatch(/northwind|A-1|summer|javascript/)
    expect((await fetch(`${base}${address}`)).status).toBe(404)
    expect(await link.count()).toBe(0)
    expect(complaints).toEqual([])
  })
})
