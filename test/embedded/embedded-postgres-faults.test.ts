import { chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findPlace, type Place } from '../../src/embedded/postgres-place.ts'
import {
  acquire,
  query,
  sharedHome,
  startUser,
  temporaryFolder,
  temporaryHome,
} from './postgres-home.ts'

describe('what a crash leaves', () => {
  const place = sharedHome()
  const leftovers = {
    'an empty pid file': '',
    'a pid file without sense': 'not a pid\n\0\n',
    'the pid file of a dead server': pidFile(2 ** 30),
    'a pid file whose pid is another program': pidFile(process.pid),
  }

  it.for(Object.entries(leftovers))('%s does not prevent the start', async ([, text]) => {
    await writePidFile(place(), text)

    const server = await acquire(place().home)

    expect(server.startedHere).toBe(true)
    await server.release()
  })

  it('a live server whose pid file was spoilt is replaced, never doubled', async () => {
    const user = startUser(place().home)
    const { url } = await user.says()
    await query(String(url), 'create table public.kept as select 42 as answer')
    await user.kill()
    await writePidFile(place(), 'spoilt')

    const server = await acquire(place().home)

    expect(server.startedHere).toBe(true)
    expect(await query(server.url, 'select answer from public.kept')).toEqual({ answer: 42 })
    await server.release()
  })

  it('a half-made data directory is made again', async () => {
    const home = await temporaryHome()
    const { directory } = await findPlace(home)
    const partial = join(directory, 'data.partial-killed')
    await mkdir(join(partial, 'base'), { recursive: true })

    const server = await acquire(home)

    await expect(stat(partial)).rejects.toThrow('ENOENT')
    await server.release()
  })

  function pidFile(pid: number): string {
    return `${pid}\n/data\n1700000000\n23456\n\n127.0.0.1\n  1234567         0\nready   \n`
  }

  async function writePidFile({ data, user }: Place, text: string): Promise<void> {
    const path = join(data, 'postmaster.pid')
    await writeFile(path, text, { mode: 0o600 })
    if (user !== undefined) await chown(path, user.uid, user.gid)
  }
})

describe('failures say what to do', () => {
  const place = sharedHome()

  it('when the data directory cannot be made, with what initdb said', async () => {
    const home = await temporaryHome()

    await expect(acquire(home, { no_such_setting: '1' })).rejects.toMatchObject({
      code: 'embedded.init_failed',
      message: expect.stringMatching(/DATABASE_URL.*no_such_setting/s),
    })
  })

  it('when the server ends while it starts, with the end of its log', async () => {
    await expect(acquire(place().home, { no_such_setting: '1' })).rejects.toMatchObject({
      code: 'embedded.start_failed',
      message: expect.stringMatching(/DATABASE_URL.*no_such_setting/s),
    })
  })

  it('when the password file is gone, and leaves the data alone', async () => {
    const { passwordFile, home } = place()
    await rename(passwordFile, `${passwordFile}.aside`)
    onTestFinished(() => rename(`${passwordFile}.aside`, passwordFile))

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.password_unknown' })
  })

  it('when the data is of another major version', async () => {
    const home = await temporaryHome()
    const { data } = await findPlace(home)
    await mkdir(data)
    await writeFile(join(data, 'PG_VERSION'), '17\n')

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.other_major_version' })
  })

  it('when something else lies where the data should, which stays', async () => {
    const home = await temporaryHome()
    const { data } = await findPlace(home)
    await mkdir(data)
    await writeFile(join(data, 'of-somebody'), '')

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.storage' })

    expect((await stat(join(data, 'of-somebody'))).isFile()).toBe(true)
  })

  it('when the home cannot be a folder', async () => {
    const file = join(await temporaryFolder(), 'file')
    await writeFile(file, '')
    onTestFinished(() => rm(file, { force: true }))

    await expect(acquire(join(file, 'home'))).rejects.toMatchObject({
      code: 'embedded.storage',
      message: expect.stringContaining('FAREWATCH_HOME'),
    })
  })
})
