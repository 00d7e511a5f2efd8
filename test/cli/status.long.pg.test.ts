import { describe, expect, onTestFinished } from 'vitest'
import { SYNC_QUEUE } from '../../src/routes/sync.ts'
import { available, gone, record, trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { routes } from '../routes/sync-fixtures.ts'
import { startFarewatch, startInTest } from '../support/child-process.ts'
import { startListServer } from '../support/list-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { aWorld, inWorld, jsonLines, queueOf, STORES } from './operator-fixtures.ts'

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

    const { stdout } = await farewatch('status', '--database')
    const [before] = jsonLines(await farewatch('schedules', 'list', '--json'))
    const ran = await farewatch('schedules', 'run', 'sync-routes')
    await until('another list', () => synced() === 2)
    const after = await farewatch('schedules', 'list')
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

describe('farewatch schedules run', () => {
  it('names the schedules if the name is unknown', async ({ databaseUrl }) => {
    const world = await aWorld(databaseUrl, 'postgres')
    const farewatch = inWorld(world)
    const times = { pattern: '0 * * * *', zone: 'UTC' }
    const scheduler = { name: 'sync-routes', times, payload: { list: 'routes' }, attempts: 1 }
    await queueOf(world).reconcile(SYNC_QUEUE, [scheduler])

    const ended = await farewatch('schedules', 'run', 'sync-fares')

    expect(ended).toMatchObject({
      exit: 1,
      stdout: '',
      stderr: 'farewatch: there is no schedule "sync-fares": sync-routes\n',
    })
  })
})

describe('farewatch incidents', () => {
  it('lists a mass loss, and closes it', async ({ db, databaseUrl }) => {
    const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))
    expect((await farewatch('incidents', 'list')).stdout).toBe('no incidents\n')
    const fares: number[] = []
    for (let i = 0; i < 40; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
    for (const fare of fares) await watchFare(db, 'ana', fare)
    const began = Date.now() - 60_000
    for (const fare of fares) await record(db, fare, new Date(began), available())
    for (const fare of fares) await record(db, fare, new Date(began + 100), gone)
    for (const fare of fares) await record(db, fare, new Date(began + 200), gone)

    const listed = await farewatch('incidents', 'list')
    const closed = await farewatch('incidents', 'close', 'mass_loss', '--json')
    const after = jsonLines(await farewatch('incidents', 'list', '--json'))
    const again = await farewatch('incidents', 'close', 'mass_loss')

    expect(listed.stdout).toMatch(/\n1 {3}mass_loss {2}\d{4}-.* OPEN +\d+ s\n$/)
    expect(jsonLines(closed)).toMatchObject([{ id: 1, kind: 'mass_loss' }])
    expect(Number(jsonLines(closed)[0]?.askedAgain)).toBeGreaterThan(20)
    const over = { closedAt: expect.any(String) as string }
    expect(after).toMatchObject([{ id: 1, ...over }])
    expect(again).toMatchObject({ exit: 1, stderr: 'farewatch: no mass_loss is open\n' })
  })
})
