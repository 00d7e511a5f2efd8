import { expect, it } from 'vitest'
import { createSemaphore } from '../../../src/platform/base/semaphore.ts'

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

it('the next work runs after work that failed', async () => {
  const semaphore = createSemaphore(1)
  const failing = semaphore(() => Promise.reject(new Error('no')))
  const next = semaphore(async () => 'done')

  await expect(failing).rejects.toThrow('no')

  expect(await next).toBe('done')
})
