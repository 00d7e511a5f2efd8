import { chown, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findPlace, type Place } from '../../src/embedded/postgres-place.ts'
import { acquire, query, sharedHome, temporaryHome } from './postgres-home.ts'

describe('after a crash', () => {
  const place = sharedHome()
  const leftovers = {
    'an empty pid file': '',
    'a pid file with invalid text': 'not a pid\n\0\n',
    'the pid file of a dead server': pidFile(2 ** 30),
    'a pid file whose pid is another program': pidFile(process.pid),
  }

  it.for(Object.entries(leftovers))('%s does not prevent the start', async ([, text]) => {
    await writePidFile(place(), text)

    const server = await acquire(place().home)

    expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 })
    await server.release()
  })

  it('an incomplete data directory is created again', async () => {
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

describe('an error message says what to do', () => {
  const place = sharedHome()

  it('when the server ends during its start, and quotes the end of its log', async () => {
    await expect(acquire(place().home, { no_such_setting: '1' })).rejects.toMatchObject({
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

  it('when the data directory contains other files, which stay', async () => {
    const home = await temporaryHome()
    const { data } = await findPlace(home)
    await mkdir(data)
    await writeFile(join(data, 'other-file'), '')

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.storage' })

    expect((await stat(join(data, 'other-file'))).isFile()).toBe(true)
  })
})
