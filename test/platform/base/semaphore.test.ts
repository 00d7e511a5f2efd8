import { expect, it } from 'vitest'
import { createKeyedSemaphore, createSemaphore } from '../../../src/platform/base/semaphore.ts'

it('a semaphore runs as much work at a time as it is wide, and the rest in order', async () => {
  const semaphore = createSemaphore(2)
  const begun: number[] = []
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
  const all = ends.map(({ promise }, i) =>
    semaphore(async () => {
      begun.push(i)
      await promise
      return i
    }),
  )

  await Promise.resolve()
  expect(begun).toEqual([0, 1])
  ends[1]?.resolve()
  await all[1]
  await Promise.resolve()
  expect(begun).toEqual([0, 1, 2])
  for (const { resolve } of ends) resolve()

  expect(await Promise.all(all)).toEqual([0, 1, 2, 3])
})

it('a wait for a semaphore that is aborted takes no place', async () => {
  const { acquire } = createKeyedSemaphore({ width: 1, maxWaiting: 2 })
  const giveUp = new AbortController()
  const first = await acquire('a')
  const waiting = acquire('a', () => giveUp.signal)
  const next = acquire('a')
  giveUp.abort()

  expect(await waiting).toBeUndefined()
  first?.()
  expect(await next).toBeDefined()
})
