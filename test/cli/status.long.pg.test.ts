import { describe, expect, onTestFinished } from 'vitest'
import { routes } from '../routes/sync-fixtures.ts'
import { startFarewatch, startInTest } from '../support/child-process.ts'
import { startListServer } from '../support/list-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { aWorld, inWorld, jsonLines, STORES } from './operator-fixtures.ts'

describe.each(STORES)('a system with its queue in %s', (store) => {
  it('shows its status repeatedly and runs a schedule on request', async ({ databaseUrl }) => {
    const lists = await startListServer()
    onTestFinished(() => lists.close())
    lists.serve({ routes: routes('PMI-MAD', 'MAD-PMI'), available: routes('PMI-MAD') })
    const world = await aWorld(databaseUrl, store)
    const farewatch = inWorld(world)
    const env = { ...world.env, UPSTREAM_BASE_URL: lists.url, ADMIN_PORT: '0' }
    const worker = startInTest(['worker'], env)
    const synced = () => worker.stdout().match(/"list":"routes","status"/g)?.length ?? 0
    await until('the first list', () => synced() === 1)

    const { stdout } = await farewatch('status --database')
    const [before] = jsonLines(await farewatch('schedules list --json'))
    const ran = await farewatch('schedules run sync-routes')
    await until('another list', () => synced() === 2)
    const after = await farewatch('schedules list')
    const watch = startFarewatch(['status', '--watch', '--json', '--database'], world.env)
    await until('two readings', () => watch.stdout().split('\n').length > 2)
    watch.child.kill('SIGINT')

    expect(stdout).toMatch(
      /^farewatch \d+\.\d+\.\d+, PostgreSQL \d+.*UTC\n\n[\s\S]*\nroutes {5}2 live, \d available\n/,
    )
    expect(stdout).toMatch(/\n {11}routes: accepted \d+ s ago, next in /)
    expect(stdout).toMatch(
      new RegExp(
        `\nqueue {6}in ${store === 'redis' ? 'Redis' : 'PostgreSQL'}, last tick \\d+ s ago\n`,
      ),
    )
    expect(before).toMatchObject({ name: 'sync-routes', cron: '0 */2 * * *' })
    expect(ran).toMatchObject({
      exit: 0,
      stdout: 'sync-routes is due: a worker starts it within five seconds\n',
    })
    expect(after.stdout).toMatch(/\nsync-routes +0 \*\/2 \* \* \* +never +\d{4}-/)
    expect(await watch.ended).toBe(130)
    expect(jsonLines({ exit: 0, stdout: watch.stdout(), stderr: '' })[1]).toMatchObject({
      routes: { live: 2 },
      incidents: [],
      queue: {
        kind: store,
        fault: null,
        queues: [{ queue: 'route-sync' }, {}, { queue: 'periodic' }],
      },
    })
  })
})
