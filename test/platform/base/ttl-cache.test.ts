import { expect, it } from 'vitest'
import { createTtlCache } from '../../../src/platform/base/cache.ts'

function aCache(maxKeys = 10) {
  const clock = { nowMs: 0 }
  const cache = createTtlCache<string>({ ttlMs: 900, nowMs: () => clock.nowMs, maxKeys })
  const loaded: string[] = []
  const get = (key: string, answer = 'a') =>
    cache.get(key, async () => {
      loaded.push(key)
      return answer
    })
  return { clock, cache, loaded, get }
}

it('the oldest value is evicted when the cache is full', async () => {
  const { loaded, get } = aCache(2)
  for (const key of ['1', '2', '3', '1']) await get(key)

  expect(loaded).toEqual(['1', '2', '3', '1'])
})

it('a value that is not cacheable evicts nothing and is loaded each time', async () => {
  const loaded: string[] = []
  const cache = createTtlCache<string>({
    ttlMs: 900,
    nowMs: () => 0,
    maxKeys: 1,
    isCacheable: (value) => value === 'good',
  })
  const get = (key: string) =>
    cache.get(key, async () => {
      loaded.push(key)
      return key
    })

  for (const key of ['good', 'bad', 'bad', 'good']) expect(await get(key)).toBe(key)

  expect(loaded).toEqual(['good', 'bad', 'bad'])
})

it('the value of the later load is kept, whichever ends first', async () => {
  const { clock, cache, get } = aCache()
  let answer: (text: string) => void = () => undefined
  const slow = cache.get('k', () => new Promise((resolve) => (answer = resolve)))
  clock.nowMs = 1_000
  await get('k', 'new')
  answer('old')
  await slow

  expect(await get('k', 'newer')).toBe('new')
})
