import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createListener } from '../../src/platform/db/listener.ts'
import { addPause } from '../../src/platform/db/pauses.ts'
import { seedApi } from '../api/seed.ts'
import { startApi } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { canBrowse, openPage, shows } from './browser.ts'

async function startLiveApi(db: Db, url: string): Promise<string> {
  const listener = createListener({ url, log: silentLog })
  onTestFinished(() => listener.close())
  return startApi(db, {
    listener,
    streams: { lasting: true },
    readWork: async () => ({
      queue: { kind: 'postgres', fault: null, lastTick: null, queues: [] },
      schedules: [],
      processes: [],
      disk: null,
      routes: null,
      feeds: null,
    }),
  })
}

describe.runIf(canBrowse)('the Now view', () => {
  it('names all that the status warns of, and what to do, and is not green', async ({
    db,
    databaseUrl,
  }) => {
    const { keys, alpha } = await seedApi(db)
    await sql`
      update webhook_endpoint set failures = 1, failing_since = clock_timestamp() where reseller_id = ${alpha}
    `.execute(db)
    // One that died in the last hour would be worse.
    await sql`update delivery set ended_at = ended_at - interval '2 hours' where state = 'dead'`.execute(
      db,
    )
    await sql`
      insert into belief_minute (minute, fares, stale, p50_seconds, p90_seconds)
      values (date_trunc('minute', clock_timestamp()) - interval '2 minutes', 4, 1, 10, 20)
    `.execute(db)
    const from = new Date(Date.now() + 3_600_000)
    await addPause(db, { what: ['syncs'], from, reason: 'we move', by: 'cli' })
    await sql`insert into demo (history_since, history_until) values (now() - interval '30 days', now())`.execute(
      db,
    )
    const base = await startLiveApi(db, databaseUrl)
    const { page, complaints } = await openPage({ base, key: keys.operator, path: '#/now' })

    const warnings = page.getByRole('list', { name: 'What is not well' })
    await warnings.getByText(/^The last attempts to 1 endpoint \(.* of alpha\) failed/).waitFor()
    await warnings.getByText('No worker and no API runs.').waitFor()
    await warnings.getByRole('link', { name: 'Review run 4' }).waitFor()
    await page.getByText('Planned: no list is fetched from').getByText('we move').waitFor()
    await shows(page, 'the history was made up until')
    await shows(page, /^At worst 25.% of the fares were too old to rely on in the last/)
    const signs = async (title: string) =>
      page
        .locator('.card', { has: page.getByRole('heading', { name: title }) })
        .getAttribute('class')

    expect(await signs('Do changes reach their receivers?')).toContain('warn')
    expect(await signs('Do the workers work?')).toContain('bad')
    expect(await signs('Does anything wait?')).toContain('bad')
    expect(complaints).toEqual([])
  })
})
