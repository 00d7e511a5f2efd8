import { expect, it } from 'vitest'
import { createKeyedSemaphore } from '../../../src/platform/base/semaphore.ts'

it('each key of a semaphore has its own places, and the others of a key wait in the order of their arrival', async () => {
  const { acquire } = createKeyedSemaphore({ width: 1, maxWaiting: 2 })
  const begun: string[] = []
  const acquiring = async (name: string, key: string) => {
    const release = await acquire(key)
    begun.push(release === undefined ? `${name} refused` : name)
    return release
  }

  const first = await acquiring('first', 'a')
  const second = acquiring('second', 'a')
  const third = acquiring('third', 'a')
  await acquiring('fourth', 'a')
  await acquiring('other', 'b')
  expect(begun).toEqual(['first', 'fourth refused', 'other'])
  first?.()
  first?.()
  const releaseSecond = await second
  expect(begun.slice(3)).toEqual(['second'])
  releaseSecond?.()
  await third

  expect(begun.slice(3)).toEqual(['second', 'third'])
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
