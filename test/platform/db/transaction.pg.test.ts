import { describe, expect } from 'vitest'
import { type Db, sql, type Tx } from '../../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../../src/platform/db/transaction.ts'
import { it } from '../../support/test-database.ts'

/** Counters in a table of this test. */
async function createCounters(db: Db, ...ids: number[]): Promise<void> {
  await sql`create table counter (id integer primary key, n integer not null default 0)`.execute(db)
  await sql`insert into counter (id) select unnest(${ids}::int[])`.execute(db)
}

async function countUp(tx: Db, id: number): Promise<void> {
  await sql`update counter set n = n + 1 where id = ${id}`.execute(tx)
}

async function counters(db: Db): Promise<number[]> {
  const { rows } = await sql<{ n: number }>`select n from counter order by id`.execute(db)
  return rows.map(({ n }) => n)
}

/** A barrier: resolves for all callers once this number of them wait, and for later callers at once. */
function createMeeting(size: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let present = 0
  return () => {
    present += 1
    if (present === size) resolve()
    return promise
  }
}

async function fail(tx: Tx, state: string): Promise<void> {
  await sql`do ${sql.lit(`begin raise exception 'on purpose' using errcode = '${state}'; end`)}`.execute(
    tx,
  )
}

describe('a transaction', () => {
  it('is retried when Postgres ends it to break a deadlock, and both take effect once', async ({
    db,
  }) => {
    await createCounters(db, 1, 2)
    const bothHoldOne = createMeeting(2)
    let attempts = 0
    const countBoth = (first: number, second: number) =>
      inTransaction(db, async (tx) => {
        attempts += 1
        await countUp(tx, first)
        await bothHoldOne()
        await countUp(tx, second)
      })

    await Promise.all([countBoth(1, 2), countBoth(2, 1)])

    // On a busy machine more than one attempt may be ended.
    expect(attempts).toBeGreaterThan(2)
    expect(await counters(db)).toEqual([2, 2])
  })

  // Fault: A transaction meets a serialization failure.
  it('is retried on the other one’s data when it cannot be serialized', async ({ db }) => {
    await createCounters(db, 1)
    const seen: number[] = []

    await inTransaction(db, async (tx) => {
      await sql`set transaction isolation level repeatable read`.execute(tx)
      const { n } = await selectOne(sql<{ n: number }>`select n from counter`, tx)
      seen.push(n)
      if (seen.length === 1) await countUp(db, 1)
      await sql`update counter set n = ${n + 10}`.execute(tx)
    })

    expect(seen).toEqual([0, 1])
    expect(await counters(db)).toEqual([11])
  })

  // Fault: A transaction meets a deadlock or a serialization failure each time.
  it.for(['40001', '40P01'])('gives up on %s after four attempts', async (state, { db }) => {
    let attempts = 0

    const failing = inTransaction(db, async (tx) => {
      attempts += 1
      await fail(tx, state)
    })

    await expect(failing).rejects.toMatchObject({ code: state })
    expect(attempts).toBe(4)
  })

  it.for([
    ['it violates a constraint', { code: '23505' }],
    ['its work throws', new TypeError('a bug')],
  ] as const)('has no effect and is not retried when %s', async ([, failure], { db }) => {
    await createCounters(db, 1)
    let attempts = 0

    const failing = inTransaction(db, async (tx) => {
      attempts += 1
      await countUp(tx, 1)
      if (failure instanceof Error) throw failure
      await sql`insert into counter (id) values (1)`.execute(tx)
    })

    await expect(failing).rejects.toMatchObject(failure)
    expect(attempts).toBe(1)
    expect(await counters(db)).toEqual([0])
  })
})
