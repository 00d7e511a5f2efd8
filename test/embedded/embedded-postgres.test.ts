import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findPlace, type Place } from '../../src/embedded/postgres-place.ts'
import { findPostmaster } from '../../src/embedded/postmaster.ts'
import {
  acquire,
  isRoot,
  query,
  removeAfterTest,
  serverProcesses,
  startUser,
  temporaryFolder,
  temporaryHome,
} from './postgres-home.ts'

const NOBODY = 65_534

describe('one process', () => {
  it('starts a private server, stops it, and finds data and port again', async () => {
    const home = await temporaryHome()
    const first = await acquire(home)
    await query(first.url, 'create table public.kept as select 42 as answer')
    const settings = await query(
      first.url,
      `select current_setting('listen_addresses') as addresses,
              current_setting('unix_socket_directories') as sockets,
              current_setting('password_encryption') as passwords,
              current_setting('jit') as jit,
              current_setting('log_timezone') as zone,
              current_setting('server_encoding') as encoding,
              (select datlocale from pg_database where datname = current_database()) as locale`,
    )
    await first.release()
    const between = await serverProcesses(home)

    const second = await acquire(home)

    expect(settings).toEqual({
      addresses: '127.0.0.1',
      sockets: '',
      passwords: 'scram-sha-256',
      jit: 'off',
      zone: 'UTC',
      encoding: 'UTF8',
      locale: 'C.UTF-8',
    })
    expect(between).toEqual([])
    expect(second).toMatchObject({ port: first.port, url: first.url, startedHere: true })
    expect(await query(second.url, 'select answer from public.kept')).toEqual({ answer: 42 })
    const { mode } = await stat((await findPlace(home)).passwordFile)
    expect(mode & 0o777).toBe(0o600)
    await second.release()
  })

  it('counts every acquire, and a release once', async () => {
    const home = await temporaryHome()
    const [first, second] = await Promise.all([acquire(home), acquire(home)])
    expect([first, second].filter((server) => server.startedHere)).toHaveLength(1)

    await first.release()
    await first.release()
    expect(await query(second.url, 'select 1 as one')).toEqual({ one: 1 })

    await Promise.all([second.release(), second.release()])
    expect(await serverProcesses(home)).toEqual([])
  })

  it('takes another port when a foreign program has the kept one, and keeps that', async () => {
    const home = await temporaryHome()
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
  it('share one server, and the last one out stops it', async () => {
    const home = await temporaryHome()
    const users = [startUser(home), startUser(home)]
    const answers = await Promise.all(users.map((user) => user.says()))
    const here = await acquire(home)

    expect(answers.filter((answer) => answer.startedHere)).toHaveLength(1)
    expect(answers.map((answer) => answer.url)).toEqual([here.url, here.url])

    for (const user of users) await user.release()
    expect(await query(here.url, 'select 1 as one')).toEqual({ one: 1 })
    await here.release()
    expect(await serverProcesses(home)).toEqual([])
  })

  it('adopt the server of a process that was killed', async () => {
    const home = await temporaryHome()
    const user = startUser(home)
    const { url } = await user.says()
    const before = await findPostmaster((await findPlace(home)).data)
    await user.kill()

    const here = await acquire(home)

    expect(here).toMatchObject({ url, startedHere: false })
    expect(await findPostmaster((await findPlace(home)).data)).toEqual(before)
    await here.release()
    expect(await serverProcesses(home)).toEqual([])
  })

  it('may end without release: the server neither holds them nor their output', async () => {
    const home = await temporaryHome()
    const user = startUser(home, { mode: 'abandon' })
    await user.says()

    // Resolves when the process has ended and its output is closed by all who had it.
    await user.release()

    expect(user.child.exitCode).toBe(0)
    expect(await serverProcesses(home)).not.toEqual([])
  })

  it('stop a server left behind that they cannot use, and say why', async () => {
    const home = await temporaryHome()
    const user = startUser(home)
    const { url } = await user.says()
    await query(String(url), `alter role farewatch password 'of somebody else'`)
    await user.kill()

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.password_unknown' })

    expect(await serverProcesses(home)).toEqual([])
  })

  it('leave a server alone that others use and they cannot', async () => {
    const home = await temporaryHome()
    const here = await acquire(home)
    await query(here.url, `alter role farewatch password 'of somebody else'`)

    await expect(acquire(home)).rejects.toMatchObject({
      code: 'embedded.silent',
      message: expect.stringContaining(`process ${process.pid} uses it`),
    })

    expect(await serverProcesses(home)).not.toEqual([])
    await here.release()
  })
})

describe('what a crash leaves', () => {
  const leftovers = {
    'an empty pid file': () => '',
    'a pid file without sense': () => 'not a pid\n\0\n',
    'the pid file of a dead server': (place: Place) => pidFile(place, 2 ** 30),
    'a pid file whose pid is another program': (place: Place) => pidFile(place, process.pid),
  }

  it.for(Object.entries(leftovers))('%s does not prevent the start', async ([, text]) => {
    const home = await temporaryHome()
    await (await acquire(home)).release()
    const place = await findPlace(home)
    await writeFile(join(place.data, 'postmaster.pid'), text(place), { mode: 0o600 })
    if (place.user) await chown(join(place.data, 'postmaster.pid'), place.user.uid, place.user.gid)

    const server = await acquire(home)

    expect(server.startedHere).toBe(true)
    await server.release()
  })

  it('a live server whose pid file was spoilt is replaced, never doubled', async () => {
    const home = await temporaryHome()
    const user = startUser(home)
    const { url } = await user.says()
    await query(String(url), 'create table public.kept as select 42 as answer')
    await user.kill()
    await writeFile(join((await findPlace(home)).data, 'postmaster.pid'), 'spoilt')

    const server = await acquire(home)

    expect(server.startedHere).toBe(true)
    expect(await query(server.url, 'select answer from public.kept')).toEqual({ answer: 42 })
    await server.release()
  })

  it('a half-made data directory is made again', async () => {
    const home = await temporaryHome()
    const { directory } = await findPlace(home)
    await mkdir(join(directory, 'data.partial-killed', 'base'), { recursive: true })

    const server = await acquire(home)

    await expect(stat(join(directory, 'data.partial-killed'))).rejects.toThrow('ENOENT')
    await server.release()
  })

  function pidFile({ data }: Place, pid: number): string {
    return `${pid}\n${data}\n1700000000\n23456\n\n127.0.0.1\n  1234567         0\nready   \n`
  }
})

describe('failures say what to do', () => {
  it('when the data directory cannot be made', async () => {
    const home = await temporaryHome()

    await expect(acquire(home, { no_such_setting: '1' })).rejects.toMatchObject({
      code: 'embedded.init_failed',
      message: expect.stringContaining('no_such_setting'),
    })
  })

  it('when the server ends while it starts, with the end of its log', async () => {
    const home = await temporaryHome()
    await (await acquire(home)).release()

    await expect(acquire(home, { no_such_setting: '1' })).rejects.toMatchObject({
      code: 'embedded.start_failed',
      message: expect.stringMatching(/DATABASE_URL.*no_such_setting/s),
    })
  })

  it('when the data is of another major version', async () => {
    const home = await temporaryHome()
    const { data } = await findPlace(home)
    await mkdir(data)
    await writeFile(join(data, 'PG_VERSION'), '17\n')

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.other_major_version' })
  })

  it('when the password file is gone, and leaves the data alone', async () => {
    const home = await temporaryHome()
    await (await acquire(home)).release()
    await rm((await findPlace(home)).passwordFile)

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.password_unknown' })
  })

  it('when the home cannot be a folder', async () => {
    const file = join(await temporaryFolder(), 'file')
    await writeFile(file, '')

    await expect(acquire(join(file, 'home'))).rejects.toMatchObject({
      code: 'embedded.storage',
      message: expect.stringContaining('FAREWATCH_HOME'),
    })
  })
})

describe.runIf(isRoot)('as root', () => {
  it('keeps the data where an unprivileged user can go, whatever the mode of the home', async () => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o700)
    const home = await temporaryHome(folder)

    const server = await acquire(home)

    const { directory, user, data } = await findPlace(home)
    const pointer = JSON.parse(await readFile(join(home, 'postgres-place.json'), 'utf8'))
    expect(pointer).toEqual({ home, directory })
    expect((await stat(data)).uid).toBe(user?.uid)
    const [pid] = await serverProcesses(home)
    expect((await stat(`/proc/${pid}`)).uid).toBe(user?.uid)
    await server.release()
  })

  it('keeps the data of a home that moves, and starts empty in one that was deleted', async () => {
    const folder = await temporaryFolder()
    const home = await temporaryHome(folder)
    const { directory } = await findPlace(home)
    await rename(home, join(folder, 'moved'))
    expect((await findPlace(join(folder, 'moved'))).directory).toBe(directory)

    const anew = await findPlace(home)
    removeAfterTest(anew)

    expect(anew.directory).not.toBe(directory)
  })

  it('ends the server of a home that was deleted while it ran', async () => {
    const home = await temporaryHome()
    const user = startUser(home)
    await user.says()
    const former = await findPlace(home)
    await user.kill()
    await rm(home, { recursive: true })

    const server = await acquire(home)

    removeAfterTest(await findPlace(home))
    expect(server.startedHere).toBe(true)
    expect(await findPostmaster(former.data)).toBeUndefined()
    await server.release()
  })

  it('does not take over the data of an ordinary user', async () => {
    const home = join(await temporaryFolder(), 'home')
    await mkdir(join(home, 'postgres'), { recursive: true })

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.other_user' })
  })
})

describe.runIf(isRoot)('as an ordinary user', () => {
  it('keeps everything in the home', async ({ skip }) => {
    const folder = await temporaryFolder()
    await chown(folder, NOBODY, NOBODY)
    const user = startUser(join(folder, 'home'), { uid: NOBODY, gid: NOBODY })
    const answer = await user.says()
    // A project below a folder of mode 0700 cannot be read by another user at all.
    skip(answer.code === undefined && answer.url === undefined, 'the project is not readable')

    expect(answer).toMatchObject({ startedHere: true })
    expect(await query(String(answer.url), 'select 1 as one')).toEqual({ one: 1 })
    expect((await stat(join(folder, 'home', 'postgres', 'data'))).uid).toBe(NOBODY)
    await user.release()
    await expect(stat(join(folder, 'home', 'postgres', 'data', 'postmaster.pid'))).rejects.toThrow()
  })

  it('is told when the system has no entry for it', async ({ skip }) => {
    const folder = await temporaryFolder()
    await chown(folder, 54_321, 54_321)

    const answer = await startUser(join(folder, 'home'), { uid: 54_321, gid: 54_321 }).says()

    skip(answer.code === undefined, 'the project is not readable')
    expect(answer).toMatchObject({ code: 'embedded.no_user_entry' })
  })
})
