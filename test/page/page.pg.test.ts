import { describe, expect } from 'vitest'
import { seedApi } from '../api/seed.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { canBrowse, openPage, press, shows } from './browser.ts'

describe.runIf(canBrowse)('the page', () => {
  it('lets a reseller in with its key, and shows its fares and watches', async ({ db }) => {
    const { keys } = await seedApi(db)
    const { page, complaints } = await openPage({ base: await startApi(db) })

    await page.getByLabel('Key').fill(keys.alpha)
    await press(page, 'Open')
    await page.getByRole('heading', { name: 'Are the fares fresh?' }).waitFor()
    await page.getByRole('link', { name: 'Watch lists' }).click()
    await page.getByText('A-1').first().click()
    await shows(page, 'Price for all passengers')

    expect(await page.getByText('B-1').count()).toBe(0)
    expect(page.url()).not.toContain(keys.alpha)
    // The first request has no key yet.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([])
  })
})
