import { describe, expect } from 'vitest'
import { isDatabaseUnavailable } from '../../../src/platform/db/database-health.ts'
import { takeTransactionLock, withSessionLock } from '../../../src/platform/db/session-lock.ts'
import { inTransaction } from '../../../src/platform/db/transaction.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { openAnother } from './empty-database.ts'
import { backendOf, terminate, untilWaiting } from './sessions.ts'

const done = async () => 'done'

describe('a session lock', () => {
  it('is released when the backend of its session is terminated', async ({ db, databaseUrl }) => {
    const another = openAnother(databaseUrl)

    const cut = withSessionLock(db, 'list', async (session) => {
      await terminate(another.db, await backendOf(session))
      const taken = await until('the lock is free', () => withSessionLock(another.db, 'list', done))
      throw new RangeError(`${taken} by the other`)
    })

    await expect(cut).rejects.toThrow('done by the other')
    expect(await withSessionLock(db, 'list', done)).toBe('done')
  })
})

describe('a transaction lock', () => {
  it('makes others wait until its transaction ends', async ({ db }) => {
    const order: string[] = []
    const { promise: release, resolve } = Promise.withResolvers<void>()
    const { promise: held, resolve: holds } = Promise.withResolvers<void>()

    const first = inTransaction(db, async (tx) => {
      await takeTransactionLock(tx, 'places')
      holds()
      await release
      order.push('first')
    })
    await held
    const second = inTransaction(db, async (tx) => {
      await takeTransactionLock(tx, 'places')
      order.push('second')
    })
    await untilWaiting(db, 1)
    order.push('waited')
    resolve()
    await Promise.all([first, second])

    expect(order).toEqual(['waited', 'first', 'second'])
  })

  it('is awaited for a limited time, and the error names the session that holds it', async ({
    db,
    databaseUrl,
  }) => {
    const another = openAnother(databaseUrl)

    const { holder, refused } = await inTransaction(another.db, async (tx) => {
      await takeTransactionLock(tx, 'places')
      const wait = inTransaction(db, (waiting) => takeTransactionLock(waiting, 'places', 50))
      const err: unknown = await wait.catch((thrown: unknown) => thrown)
      return { holder: await backendOf(tx), refused: err }
    })

    expect(refused).toMatchObject({ code: 'db.lock_held', retryable: true })
    expect(isDatabaseUnavailable(refused)).toBe(true)
    expect(String(refused)).toMatch(
      new RegExp(`"places" was not free in time: it was held by role \\S+, process ${holder} `),
    )
  })
})
