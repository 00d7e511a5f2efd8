import { expect, it } from 'vitest'
import { createSemaphore } from '../../src/base/semaphore.ts'

it('lets as many in as it is wide, and the others in their order', async () => {
  const gate = createSemaphore(2)
  const begun: number[] = []
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
  const all = ends.map(({ promise }, i) =>
    gate(async () => {
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

it('lets the next in where work fails', async () => {
  const gate = createSemaphore(1)
  const failing = gate(() => Promise.reject(new Error('no')))
  const next = gate(async () => 'done')

  await expect(failing).rejects.toThrow('no')

  expect(await next).toBe('done')
})
