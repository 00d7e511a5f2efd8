import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { seedApi } from '../api/seed.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import {
  axeFaults,
  canBrowse,
  DOCS_PATHS,
  OPERATOR_PATHS,
  openPage,
  openPanels,
  RESELLER_PATHS,
} from './browser.ts'

const PHONE = { width: 390, height: 844 }

/** What is wider than the screen, or cut by a box that holds it: text that cannot be read on a phone. */
const CLIPPED = `[...document.querySelectorAll('body, nav, header, main, .scroll, table, .card, .panel, footer')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 || element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.tagName + '.' + element.className + ' ' + element.scrollWidth)`

async function clipped(page: Page): Promise<string[]> {
  await until('the view', async () => (await page.getByText('Loading …').count()) === 0)
  return page.evaluate<string[]>(CLIPPED)
}

describe.runIf(canBrowse)('the page on a phone', () => {
  it.for(['light', 'dark'] as const)(
    'clips no table, tab or text, does not scroll sideways, and breaks no rule of accessibility: %s',
    async (colorScheme, { db }) => {
      const { keys } = await seedApi(db)
      const base = await startApi(db)
      const faults: string[] = []
      for (const [key, paths] of [
        [keys.operator, OPERATOR_PATHS],
        [keys.alpha, RESELLER_PATHS],
      ] as const) {
        const { page } = await openPage({ base, key, colorScheme, path: '#/now' })
        await page.setViewportSize(PHONE)
        for (const path of paths) {
          await page.goto(`${base}/#/${path}`)
          const found = [...(await clipped(page)), ...(await axeFaults(page))]
          faults.push(...found.map((fault) => `${path}: ${fault}`))
        }
      }
      const { page } = await openPage({ base, colorScheme })
      await page.setViewportSize(PHONE)
      for (const path of DOCS_PATHS) {
        await page.goto(`${base}${path}`)
        await openPanels(page)
        const found = [...(await clipped(page)), ...(await axeFaults(page))]
        faults.push(...found.map((fault) => `${path}: ${fault}`))
      }
      expect(faults).toEqual([])
    },
  )
})
