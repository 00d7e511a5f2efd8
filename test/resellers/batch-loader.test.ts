import { expect, it } from 'vitest'
import { createBatchLoader } from '../../src/resellers/check-keys.ts'

const EVERY_MS = 50

/** Loads every key as itself, except `none`. */
function aLoader() {
  const batches: (readonly string[])[] = []
  const loader = createBatchLoader<string>({
    intervalMs: EVERY_MS,
    load: async (keys) => {
      batches.push(keys)
      if (keys.includes('broken')) throw new Error('unavailable')
      return new Map(keys.filter((key) => key !== 'none').map((key) => [key, key]))
    },
  })
  return { loader, batches }
}

it('the first key is loaded at once, and later keys are loaded together after the interval', async () => {
  const { loader, batches } = aLoader()

  expect(await loader.find('a')).toBe('a')
  const many = Array.from({ length: 1_000 }, (_, i) => `${i}`)
  const found = await Promise.all([...many, 'none', '7'].map((key) => loader.find(key)))

  expect(found).toEqual([...many, undefined, '7'])
  expect(batches).toEqual([['a'], [...many, 'none']])
})

it('a batch after a failed one is loaded', async () => {
  const { loader } = aLoader()

  const both = await Promise.allSettled([loader.find('broken'), loader.find('a')])

  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await loader.find('a')).toBe('a')
})
