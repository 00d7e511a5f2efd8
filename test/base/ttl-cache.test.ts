import { expect, it } from 'vitest'
import { createTtlCache } from '../../src/base/ttl-cache.ts'

function aMemory(maxKeys = 10) {
  const clock = { nowMs: 0 }
  const memory = createTtlCache<string>({ ttlMs: 900, nowMs: () => clock.nowMs, maxKeys })
  const asked: string[] = []
  const get = (key: string, answer = 'a') =>
    memory.get(key, async () => {
      asked.push(key)
      return answer
    })
  return { clock, memory, asked, get }
}

it('asks once where many want to know at once, and again when the moment has passed', async () => {
  const { clock, asked, get } = aMemory()

  expect(await Promise.all([get('k'), get('k'), get('k')])).toEqual(['a', 'a', 'a'])
  clock.nowMs = 899
  expect(await get('k', 'b')).toBe('a')
  clock.nowMs = 900
  expect(await get('k', 'b')).toBe('b')

  expect(asked).toEqual(['k', 'k'])
})

it('counts the moment from before the question was put', async () => {
  const { clock, memory, asked, get } = aMemory()
  let answer: (text: string) => void = () => undefined
  const slow = memory.get('k', () => new Promise((resolve) => (answer = resolve)))
  clock.nowMs = 5_000
  answer('old')

  expect(await slow).toBe('old')
  expect(await get('k', 'new')).toBe('new')
  expect(asked).toEqual(['k'])
})

it('does not remember a failure', async () => {
  const { memory, get } = aMemory()
  const failing = memory.get('k', () => Promise.reject(new Error('away')))

  await expect(failing).rejects.toThrow('away')
  expect(await get('k')).toBe('a')
})

it('forgets the oldest where there are too many', async () => {
  const { asked, get } = aMemory(2)
  for (const key of ['1', '2', '3', '1']) await get(key)

  expect(asked).toEqual(['1', '2', '3', '1'])
})

it('forgets nothing for the sake of what is not worth a place, and asks for that each time', async () => {
  const asked: string[] = []
  const memory = createTtlCache<string>({
    ttlMs: 900,
    nowMs: () => 0,
    maxKeys: 1,
    isCacheable: (value) => value === 'good',
  })
  const get = (key: string) =>
    memory.get(key, async () => {
      asked.push(key)
      return key
    })

  for (const key of ['good', 'bad', 'bad', 'good']) expect(await get(key)).toBe(key)

  expect(asked).toEqual(['good', 'bad', 'bad'])
})

it('keeps the answer to the later question, whichever comes first', async () => {
  const { clock, memory, get } = aMemory()
  let answer: (text: string) => void = () => undefined
  const slow = memory.get('k', () => new Promise((resolve) => (answer = resolve)))
  clock.nowMs = 1_000
  await get('k', 'new')
  answer('old')
  await slow

  expect(await get('k', 'newer')).toBe('new')
})
