import { describe, expect } from 'vitest'
import { createApiKey } from '../../src/resellers/api-keys.ts'
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
