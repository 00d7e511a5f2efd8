import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { findPostmaster } from '../../src/embedded/postmaster.ts'
import { until } from '../support/until.ts'
import {
  acquire,
  query,
  serverProcesses,
  sharedHome,
  startUser,
  temporaryHome,
} from './postgres-home.ts'

describe('one process', () => {
  const place = sharedHome()

  it('starts a private server, stops it, and gets the same data and port again', async () => {
    const home = await temporaryHome()
    const first = await acquire(home)
    await query(first.url, 'create table public.kept as select 42 as answer')
    await first.release()
    const between = await serverProcesses(home)

    const second = await acquire(home)

    expect(between).toEqual([])
    expect(second).toMatchObject({ port: first.port, url: first.url, startedHere: true })
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
      server.url,
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
    expect((await stat(place().passwordFile)).mode & 0o777).toBe(0o600)
    await server.release()
  })

  it('stops its server after as many releases as acquires, and a second release of one acquire has no effect', async () => {
    const { home } = place()
    const [first, second] = await Promise.all([acquire(home), acquire(home)])
    expect([first, second].filter((server) => server.startedHere)).toHaveLength(1)

    await first.release()
    await first.release()
    expect(await query(second.url, 'select 1 as one')).toEqual({ one: 1 })

    await Promise.all([second.release(), second.release()])
    expect(await serverProcesses(home)).toEqual([])
  })

  it('uses another port from then on when another program has taken its port', async () => {
    const { home } = place()
    const first = await acquire(home)
    await first.release()
    const foreign = createServer().listen(first.port, '127.0.0.1')
    onTestFinished(() => void foreign.close())

    const second = await acquire(home)
    await second.release()
    const third = await acquire(home)
    await third.release()

    expect(second.port).not.toBe(first.port)
    expect(third.port).toBe(second.port)
  })
})

describe('several processes', () => {
  const place = sharedHome()

  it('share one server from the start, and the last one stops it', async () => {
    const home = await temporaryHome()
    const users = [startUser(home), startUser(home)]
    const answers = await Promise.all(users.map((user) => user.nextLine()))
    const here = await acquire(home)

    expect(answers.filter((answer) => answer.startedHere)).toHaveLength(1)
    expect(answers.map((answer) => answer.url)).toEqual([here.url, here.url])

    for (const user of users) await user.release()
    expect(await query(here.url, 'select 1 as one')).toEqual({ one: 1 })
    await here.release()
    expect(await serverProcesses(home)).toEqual([])
  })

  it('adopt the server of a process that was killed', async () => {
    const { home, data } = place()
    const user = startUser(home)
    const { url } = await user.nextLine()
    const before = await findPostmaster(data)
    await user.kill()

    const here = await acquire(home)

    expect(here).toMatchObject({ url, startedHere: false })
    expect(await findPostmaster(data)).toEqual(before)
    await here.release()
    expect(await serverProcesses(home)).toEqual([])
  })

  it('stop the server also when the last of them ends without a release', async () => {
    const user = startUser(place().home)
    await user.nextLine()
    const other = startUser(place().home, { mode: 'abandon' })
    await other.nextLine()

    await other.closed
    expect(other.child.exitCode).toBe(0)
    expect(await findPostmaster(place().data)).toMatchObject({ ready: true })
    await user.release()
    const last = startUser(place().home, { mode: 'abandon' })
    await last.nextLine()

    await until('the end of the server', async () => {
      return (await serverProcesses(place().home)).length === 0
    })
  })

  it('may be killed: the server keeps neither them nor their output open', async () => {
    const user = startUser(place().home)
    await user.nextLine()

    // Resolves when the process has ended and no other process has its output open.
    await user.kill()

    expect(await findPostmaster(place().data)).toMatchObject({ ready: true })
  })

  it('stop an abandoned server that they cannot use, and report why', async () => {
    const home = await temporaryHome()
    const user = startUser(home)
    const { url } = await user.nextLine()
    await query(String(url), `alter role farewatch password 'of another user'`)
    await user.kill()

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.password_unknown' })

    expect(await serverProcesses(home)).toEqual([])
  })

  it('do not stop a server that they cannot use while another process uses it', async () => {
    const home = await temporaryHome()
    const here = await acquire(home)
    await query(here.url, `alter role farewatch password 'of another user'`)

    await expect(acquire(home)).rejects.toMatchObject({
      code: 'embedded.silent',
      message: expect.stringContaining(`process ${process.pid} uses it`),
    })

    expect(await findPostmaster((await findPlace(home)).data)).toMatchObject({ ready: true })
    await here.release()
  })
})
