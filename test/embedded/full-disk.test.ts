import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { mountSmallDisk } from '../chaos/small-disk.ts'
import { runFarewatch } from '../support/child-process.ts'

const disk = await mountSmallDisk(8)

describe.runIf(disk !== undefined)('a full disk', () => {
  afterAll(() => disk?.close())

  // Fault: The disk is full when a command starts. One sentence names it, without a stack.
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
})
