import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { createCallLedger } from '../../src/schedule/budget.ts'
import { syncTrackedFares } from '../../src/watches/sync-tracked-fares.ts'
import { trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { hoursPass, runOf } from '../routes/held-fixtures.ts'
import { manyRoutes, routes, sync } from '../routes/sync-fixtures.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { canBrowse, type OpenPage, openPage, press, shows } from './browser.ts'

type Database = Parameters<typeof startApi>[0]

async function openAsOperator(db: Database, path: string): Promise<OpenPage> {
  const { text } = await createApiKey(db, { resellerId: null })
  return openPage({ base: await startApi(db), key: text, path })
}

describe.runIf(canBrowse)('the views of the network and of the calls', () => {
  it('the schedule shows the calls of the last hour by lane, reseller and priority', async ({
    db,
  }) => {
    const [shared, own] = [await trackFare(db, { flightId: '1' }), await trackFare(db)]
    const watches = [
      { name: 'alpha', fareId: shared, priority: 'urgent' },
      { name: 'beta', fareId: shared, priority: 'normal' },
      { name: 'alpha', fareId: own, priority: 'urgent' },
    ]
    for (const { name, fareId, priority } of watches) {
      const id = await watchFare(db, name, fareId)
      await sql`update watch set priority = ${priority} where reseller_id = ${id}`.execute(db)
      await inTransaction(db, (tx) => syncTrackedFares(tx, [fareId]))
    }
    const now = () => new Date(Date.now() - 5 * 60_000)
    const ledger = createCallLedger({ now, sleep: async () => undefined })
    for (const fareId of [shared, shared, own]) ledger.count('scheduled', fareId)
    for (const fareId of [shared, shared, own]) ledger.count('confirmation', fareId)
    ledger.count('list')
    await ledger.flush(db)

    const { page, complaints } = await openAsOperator(db, '#/schedule')
    const usesOf = async (title: string) => {
      const heading = page.getByRole('heading', { name: title })
      await heading.waitFor()
      const uses = heading.locator('xpath=..').getByRole('listitem')
      const texts = await uses.allInnerTexts()
      return texts.map((text) => text.replace(/\s+/g, ' ').trim()).toSorted()
    }

    expect(await usesOf('By lane')).toEqual([
      'regular check 3 43 %',
      'route list 1 14 %',
      'second check, of a loss, another flight or a doubtful price 3 43 %',
    ])
    expect(await usesOf('By reseller')).toEqual([
      'alpha 4 57 %',
      'beta 2 29 %',
      'no reseller 1 14 %',
    ])
    expect(await usesOf('By priority')).toEqual([
      'no priority 1 14 %',
      'normal 2 29 %',
      'urgent 4 57 %',
    ])
    expect(complaints).toEqual([])
  })

  it('held lists are reviewed on the map and approved one by one', async ({ db }) => {
    const all = manyRoutes(100)
    const listed = { list: 'with-availability' } as const
    await sync(db, all)
    await sync(db, all, listed)
    await hoursPass(db, 3)
    const ofRoutes = await sync(db, [...all.slice(0, 60), ...routes('NEW-ONE', 'NEW-TWO')])
    const ofAvailability = await sync(db, all.slice(0, 50), listed)
    const { page, complaints } = await openAsOperator(db, `#/runs/${ofRoutes.runId}`)
    const questions: string[] = []
    page.on('dialog', (dialog) => {
      questions.push(dialog.message())
      void dialog.accept()
    })

    await page
      .getByRole('application', { name: 'World map of the difference: 40 routes missing, 2 added' })
      .waitFor()
    await page.getByRole('link', { name: `Run ${ofAvailability.runId}`, exact: true }).click()
    await page
      .getByRole('application', { name: 'World map of the difference: 50 routes missing, 0 added' })
      .waitFor()
    await shows(page, 'Decide about the routes first.')
    await press(page, 'Approve')
    await shows(page, 'with-availability: approved')

    expect(questions).toEqual([expect.stringContaining(`Approve run ${ofAvailability.runId}?`)])
    expect(await runOf(db, ofAvailability.runId)).toMatchObject({ status: 'approved' })
    expect(await runOf(db, ofRoutes.runId)).toMatchObject({ status: 'held' })
    expect(complaints).toEqual([])
  })
})
