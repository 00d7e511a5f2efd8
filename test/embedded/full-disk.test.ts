import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { mountSmallDisk } from '../chaos/small-disk.ts'
import { runFarewatch } from '../support/child-process.ts'
import { startUser } from './postgres-home.ts'

const UNPRIVILEGED = 65_534

const disk = await mountSmallDisk(8)

describe.runIf(disk !== undefined)('a full disk', () => {
  afterAll(() => disk?.close())

  it('is named in the sentence with which a command ends', async () => {
    await disk?.fill()
    const env = {
      DATABASE_URL: 'postgres://127.0.0.1:9/none',
      FAREWATCH_HOME: join(disk?.folder ?? '', 'home'),
      API_PORT: '0',
      ADMIN_PORT: '0',
    }

    const { exit, stderr } = await runFarewatch(['up'], env)

    expect(exit).toBe(1)
    const line = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { msg: string }
    expect(line.msg).toMatch(/^the disk is full, make room on it: ENOSPC/)
    expect(stderr).not.toContain('    at ')
    await disk?.free()
  })

  it('is named before PostgreSQL creates its data there', async ({ skip }) => {
    await chown(disk?.folder ?? '', UNPRIVILEGED, UNPRIVILEGED)
    const identity = { uid: UNPRIVILEGED, gid: UNPRIVILEGED }

    const answer = await startUser(join(disk?.folder ?? '', 'other'), identity).nextLine()

    skip(answer.code === undefined, 'the project is not readable')
    expect(answer).toMatchObject({
      code: 'embedded.storage',
      message: expect.stringMatching(
        /has \d MB free, and the embedded PostgreSQL needs 200 MB/,
      ) as string,
    })
  })
})
