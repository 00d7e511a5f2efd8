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

it('a TTL cache loads a value once for concurrent callers, and again when it has expired', async () => {
  const { clock, loaded, get } = aCache()

  expect(await Promise.all([get('k'), get('k'), get('k')])).toEqual(['a', 'a', 'a'])
  clock.nowMs = 899
  expect(await get('k', 'b')).toBe('a')
  clock.nowMs = 900
  expect(await get('k', 'b')).toBe('b')

  expect(loaded).toEqual(['k', 'k'])
})

it('the time to live begins when the load starts', async () => {
  const { clock, cache, loaded, get } = aCache()
  let answer: (text: string) => void = () => undefined
  const slow = cache.get('k', () => new Promise((resolve) => (answer = resolve)))
  clock.nowMs = 5_000
  answer('old')

  expect(await slow).toBe('old')
  expect(await get('k', 'new')).toBe('new')
  expect(loaded).toEqual(['k'])
})

it('a failed load is not cached', async () => {
  const { cache, get } = aCache()
  const failing = cache.get('k', () => Promise.reject(new Error('unavailable')))

  await expect(failing).rejects.toThrow('unavailable')
  expect(await get('k')).toBe('a')
})

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
