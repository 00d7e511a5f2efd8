import os from 'node:os'
import { afterEach, expect, onTestFinished } from 'vitest'
import { type App, openApp } from '../../src/app/app.ts'
import { schedulerLoop } from '../../src/app/periodic.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { addPause, endPauses } from '../../src/platform/db/pauses.ts'
import type { QueueSystem } from '../../src/platform/queue/queue-system.ts'
import { SYNC_QUEUE } from '../../src/routes/sync.ts'
import { makeListsDue } from '../chaos/steps.ts'
import { createSystems } from '../platform/queue/queue-fixtures.ts'
import { describeStores } from '../platform/queue/queue-stores.ts'
import { routes, sync } from '../routes/sync-fixtures.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'

/** Both lists are due once a year, so a due time has passed. */
function appOn(databaseUrl: string): App {
  const config = loadConfig(
    {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
      ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
      AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    },
    os.tmpdir(),
  )
  const app = openApp({
    config: { ...config, DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' },
    log: silentLog,
    clock: systemClock,
    role: 'test',
  })
  onTestFinished(() => app.close())
  return app
}

const never = new AbortController().signal

describeStores('a sync whose due time was missed', (store) => {
  const systems = createSystems(store)
  afterEach(async () => {
    await systems.closeAll()
    await store().wipe()
  })

  /** Reconciles, and returns the lists whose jobs wait. */
  async function reconcile(app: App, queue: QueueSystem): Promise<unknown[]> {
    await schedulerLoop(app, queue).run(never)
    const jobs = await queue.jobs(SYNC_QUEUE, 'waiting', 10)
    return jobs.map(({ payload }) => payload.list)
  }

  async function acceptLists(app: App): Promise<void> {
    const { db } = app.database
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
  }

  it('is made up at the first start, the routes first', async ({ database, databaseUrl }) => {
    const [app, queue] = [appOn(databaseUrl), systems.open()]

    expect(await reconcile(app, queue)).toEqual(['routes'])
    expect(await reconcile(app, queue)).toEqual(['routes'])
    await sync(database.db, routes('PMI-MAD'))

    expect(await reconcile(app, queue)).toEqual(['routes', 'with-availability'])
  })

  it('is made up once, by any of several processes', async ({ database, databaseUrl }) => {
    const apps = [appOn(databaseUrl), appOn(databaseUrl), appOn(databaseUrl)]
    const [app] = apps as [App]
    await acceptLists(app)
    expect(await reconcile(app, systems.open())).toEqual([])
    await makeListsDue(database.db, ['routes'])

    const found = await Promise.all(apps.map((one) => reconcile(one, systems.open())))

    expect(found.flat()).toContain('routes')
    expect(await reconcile(app, systems.open())).toEqual(['routes'])
  })

  it('waits for the end of a pause', async ({ database, databaseUrl }) => {
    const [app, queue] = [appOn(databaseUrl), systems.open()]
    const { db } = database
    await acceptLists(app)
    await makeListsDue(db, ['routes'])
    const what = ['syncs'] as const
    await addPause(db, { what, reason: 'maintenance', by: 'cli' })

    expect(await reconcile(app, queue)).toEqual([])
    await endPauses(db, { what, planned: false, by: 'cli' })

    expect(await reconcile(app, queue)).toEqual(['routes'])
  })
})
