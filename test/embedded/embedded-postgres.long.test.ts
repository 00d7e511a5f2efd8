import { rm, stat } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ensureData } from '../../src/embedded/postgres-data.ts'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { findPostmaster, stopServer } from '../../src/embedded/server-process.ts'
import { startServer } from '../../src/embedded/start-server.ts'
import { createAnalyst, readAnalystRisks } from '../../src/platform/db/analyst-logins.ts'
import { openDatabase } from '../../src/platform/db/database.ts'
import { readStorage } from '../../src/platform/db/database-health.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { migrateQueue } from '../../src/platform/queue/queue-connection.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { FAST } from './fast-postgres.ts'
import {
  acquire,
  query,
  serverProcesses,
  sharedHome,
  startUser,
  superuserUrl,
  temporaryHome,
} from './postgres-home.ts'

describe('the owner of a home', () => {
  const place = sharedHome()

  it('starts a private server, stops it, and gets the same data and port again', async () => {
    const home = await temporaryHome()
    const first = await acquire(home)
    await query(first.url, 'create table public.kept as select 42 as answer')
    await first.release()
    const between = await serverProcesses(home)

    const second = await acquire(home)

    expect(between).toEqual([])
    expect(second).toMatchObject({ port: first.port, url: first.url })
    expect(await query(second.url, 'select answer from public.kept')).toEqual({ answer: 42 })
    await second.release()
  })

  it('starts a server that only this machine reaches, with a password', async () => {
    const server = await acquire(place().home)

    const settings = await query(
      server.url,
      `select current_setting('listen_addresses') as addresses,
              current_setting('unix_socket_directories') as sockets,
              current_setting('jit') as jit,
              current_setting('log_timezone') as zone,
              current_setting('server_encoding') as encoding,
              (select datlocale from pg_database where datname = current_database()) as locale`,
    )
    const hba = await query(
      await superuserUrl(place(), server.url),
      'select array_agg(distinct auth_method) from pg_hba_file_rules',
    )

    expect(settings).toEqual({
      addresses: '127.0.0.1',
      sockets: '',
      jit: 'off',
      zone: 'UTC',
      encoding: 'UTF8',
      locale: 'C.UTF-8',
    })
    expect(hba).toEqual({ array_agg: ['scram-sha-256'] })
    for (const file of [place().passwordFile, place().ownerPasswordFile]) {
      expect((await stat(file)).mode & 0o777).toBe(0o600)
    }
    await server.release()
  })
})

describe('the role that processes connect as', () => {
  const open = (url: string) => {
    const database = openDatabase({ url, applicationName: 'test', log: silentLog })
    onTestFinished(() => database.close())
    return database
  }
  const OF_SUPERUSER = `
    select count(*)::int as found
      from (select relnamespace as space from pg_class where relowner = 10
            union all select pronamespace from pg_proc where proowner = 10
            union all select typnamespace from pg_type where typowner = 10
            union all select stxnamespace from pg_statistic_ext where stxowner = 10
            union all select oid from pg_namespace where nspowner = 10) o
      join pg_namespace n on n.oid = o.space
     where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`

  it('is no superuser, owns what a superuser made in a home of before, migrates it, and makes limited logins', async () => {
    const home = await temporaryHome()
    const place = await findPlace(home)
    await ensureData(place, FAST)
    const port = await freePort()
    await startServer(place, port, FAST)
    const before = await superuserUrl(place, `postgres://x:y@127.0.0.1:${port}/farewatch`)
    const database = open(before)
    await migrate(database.db, { last: '0013_sign_in_codes' })
    const client = await database.pool.connect()
    await migrateQueue(client)
    client.release()
    await database.close()
    await query(before, 'create table public.kept as select 42 as answer')
    await query(before, `create role mara login password 'x' in role farewatch_analyst`)
    expect(Object.values(await query(before, OF_SUPERUSER))[0]).toBeGreaterThan(100)
    await stopServer(place.data, silentLog)

    const { url, release } = await acquire(home)
    const { db, close } = open(url)
    await migrate(db)

    expect(await query(url, 'select rolsuper from pg_roles where rolname = current_user')).toEqual({
      rolsuper: false,
    })
    expect(await query(url, OF_SUPERUSER)).toEqual({ found: 0 })
    await query(url, 'update public.kept set answer = 43')
    await createAnalyst(db, 'nils')
    expect(await readAnalystRisks(db)).toEqual({
      logins: ['mara', 'nils'],
      mayLock: false,
      maySignal: true,
      mayStore: false,
      unlimited: [],
    })
    expect((await readStorage(db)).disk).toBeDefined()
    await close()
    await release()
    await rm(place.ownerPasswordFile)
    const again = await acquire(home)
    expect(again.url).not.toBe(url)
    expect(await query(again.url, 'select answer from public.kept')).toEqual({ answer: 43 })
    await again.release()
  })
})

describe('the end of an owner', () => {
  const place = sharedHome()

  it('by kill -9 leaves a server that the next owner stops, and the data are there', async () => {
    const { home, data } = place()
    const owner = startUser(home)
    const { url } = await owner.nextLine()
    await query(String(url), 'create table public.kept as select 42 as answer')
    const orphan = await findPostmaster(data)
    // Resolves when the process has ended and no other process, such as its server, has its output open.
    await owner.kill()
    expect(await findPostmaster(data)).toEqual(orphan)

    const here = await acquire(home)

    expect((await findPostmaster(data))?.pid).not.toBe(orphan?.pid)
    expect(await query(here.url, 'select answer from public.kept')).toEqual({ answer: 42 })
    await here.release()
    await here.release()
    expect(await serverProcesses(home)).toEqual([])
  })
})

describe('while a process owns the data', () => {
  it('a second owner is refused, and a command uses the server without stopping it', async () => {
    const home = await temporaryHome()
    const here = await acquire(home)
    const [second, command] = [startUser(home), startUser(home, { mode: 'join' })]

    expect(await command.nextLine()).toEqual({ url: here.url, port: here.port })
    expect(await second.nextLine()).toMatchObject({
      code: 'embedded.busy',
      message: expect.stringMatching(/^another farewatch runs .* already: end it first/),
    })
    await command.release()

    expect(await query(here.url, 'select 1 as one')).toEqual({ one: 1 })
    await here.release()
    expect(await serverProcesses(home)).toEqual([])
  })
})
