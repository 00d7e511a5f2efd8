import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { processMark } from '../../src/embedded/live-process.ts'
import { enter, exclusively, livingEntries } from '../../src/embedded/presence.ts'
import { temporaryFolder } from './postgres-home.ts'

const NO_SUCH_PID = 2 ** 30

describe('entries', () => {
  it('count until they leave or their process ends', async () => {
    const folder = await temporaryFolder()
    const first = await enter(folder)
    const second = await enter(folder)

    expect(new Set(await livingEntries(folder))).toEqual(new Set([first.name, second.name]))

    await first.leave()
    await first.leave()
    expect(await livingEntries(folder)).toEqual([second.name])
  })

  it('are removed if their process has ended, their pid was reused or their name is invalid', async () => {
    const folder = await temporaryFolder()
    const mark = await processMark(process.pid)
    const names = [`${NO_SUCH_PID}-${mark}-a`, `${process.pid}-0123456789abcdef-b`, 'garbage', '']
    for (const name of names.filter(Boolean)) await writeFile(join(folder, name), '')

    expect(await livingEntries(folder)).toEqual([])
    expect(await readdir(folder)).toEqual([])
  })

  it('do not exist in a missing folder', async () => {
    expect(await livingEntries(join(await temporaryFolder(), 'missing'))).toEqual([])
  })
})

describe('exclusively', () => {
  it('runs one caller at a time, even after a holder was killed', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, `${NO_SUCH_PID}-0123456789abcdef-x`), '')
    let inside = 0
    let most = 0
    const work = async () => {
      inside += 1
      most = Math.max(most, inside)
      await readdir(folder)
      inside -= 1
    }

    await Promise.all(Array.from({ length: 8 }, () => exclusively(folder, work)))

    expect(most).toBe(1)
    expect(await readdir(folder)).toEqual([])
  })

  it('runs the next caller when the work throws', async () => {
    const folder = await temporaryFolder()

    await expect(
      exclusively(folder, () => Promise.reject(new Error('work failed'))),
    ).rejects.toThrow('work failed')

    expect(await exclusively(folder, async () => 'next')).toBe('next')
  })
})
