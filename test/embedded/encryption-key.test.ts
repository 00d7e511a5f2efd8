import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { keysOfHome } from '../../src/embedded/embed-missing.ts'
import { temporaryFolder } from './postgres-home.ts'

const NONE = { ENCRYPTION_KEY: undefined, ENCRYPTION_KEY_PREVIOUS: undefined }

it('a home without a key gets one that all its processes share and only its owner can read', async () => {
  const home = join(await temporaryFolder(), 'home')
  const file = join(home, 'encryption-key')

  const keys = await Promise.all(Array.from({ length: 8 }, () => keysOfHome(home, NONE)))

  expect(new Set(keys.map(({ ENCRYPTION_KEY }) => ENCRYPTION_KEY)).size).toBe(1)
  expect(keys[0]?.ENCRYPTION_KEY).toMatch(/^[0-9a-f]{48}$/)
  expect(await readFile(file, 'utf8')).toBe(`${keys[0]?.ENCRYPTION_KEY}\n`)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

it('a key that the user sets replaces that of the home, which still opens what it has sealed', async () => {
  const home = await temporaryFolder()
  const own = { ENCRYPTION_KEY: 'a-key-of-the-user', ENCRYPTION_KEY_PREVIOUS: undefined }
  expect(await keysOfHome(home, own)).toEqual(own)

  const { ENCRYPTION_KEY: former } = await keysOfHome(home, NONE)

  expect(await keysOfHome(home, own)).toEqual({ ...own, ENCRYPTION_KEY_PREVIOUS: former })
  const both = { ...own, ENCRYPTION_KEY_PREVIOUS: 'an-older-key' }
  expect(await keysOfHome(home, both)).toEqual(both)
})

it('a damaged key of a home stops the start with advice', async () => {
  const home = await temporaryFolder()
  await writeFile(join(home, 'encryption-key'), '\n')

  await expect(keysOfHome(home, NONE)).rejects.toMatchObject({
    code: 'embedded.storage',
    message: expect.stringContaining('is damaged: restore it'),
  })
})
