import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { lockFares } from '../../src/fares/check/belief-store.ts'
import { countChecks, recordChecks } from '../../src/fares/check/record-checks.ts'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { it } from '../support/test-database.ts'
import { CALM } from './answers.ts'
import {
  available,
  gone,
  kinds,
  minute,
  observation,
  pairStates,
  RULES,
  record,
  silent,
  trackFare,
  watchFare,
  watchFeed,
} from './fare-fixtures.ts'

describe('a recorded check', () => {
  it('the first available answer makes a fare bookable, with its price and its history', async ({
    db,
  }) => {
    const fare = await trackFare(db)

    await record(db, fare, minute(0), available('80.00'))

    const { rows } = await sql`
      select state as pair, outbound, price::text, currency, last_good_check_at, stale
        from farewatch.fares_current where tracked_fare_id = ${fare}
    `.execute(db)
    expect(rows).toEqual([
      expect.objectContaining({
        pair: 'bookable',
        outbound: 'available',
        price: '80.00',
        currency: 'EUR',
        last_good_check_at: minute(0),
      }),
    ])
    expect(await kinds(db, fare)).toEqual(['became_available'])
    expect(await pairStates(db, fare)).toEqual(['bookable'])
  })

  it('a price that no answer shows any more keeps its instant, has a reason, and is unknown when it is stale', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available('80.00'))
    await record(db, fare, minute(1), available('80.00', { price: null }))
    const current = async () => {
      const { rows } = await sql`
        select state as pair, price::text, currency, price_checked_at, price_reason, stale
          from farewatch.fares_current where tracked_fare_id = ${fare}
      `.execute(db)
      return rows[0]
    }

    const fresh = await current()
    await sql`update fare_state set price_checked_at = price_checked_at - interval '1 hour'`.execute(
      db,
    )
    const stale = await current()
    await record(db, fare, minute(2), available('80.00'))
    const shown = await current()
    await record(db, fare, minute(3), available('90.00'))

    const bookable = { pair: 'bookable', stale: false }
    const known = { ...bookable, price: '80.00', currency: 'EUR' }
    expect(fresh).toEqual({ ...known, price_checked_at: minute(0), price_reason: 'unreadable' })
    expect(stale).toMatchObject({
      ...bookable,
      price: null,
      currency: null,
      price_reason: 'unreadable',
    })
    expect(shown).toEqual({ ...known, price_checked_at: minute(2), price_reason: null })
    const { rows: history } = await sql`
      select price::text, price_checked_at, price_reason from farewatch.fare_history order by valid_from
    `.execute(db)
    expect(history).toEqual([
      { price: '80.00', price_checked_at: minute(2), price_reason: null },
      { price: '90.00', price_checked_at: minute(3), price_reason: null },
    ])
  })

  it('a price in another currency waits for its confirmation across transactions', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    const reseller = await watchFare(db, 'ana', fare)
    const dollars = available('', { price: { amount: '80.00', currency: 'USD' } })
    await record(db, fare, minute(0), available('80.00'))

    await record(db, fare, minute(1), dollars)
    const first = await kinds(db, fare)
    const { rows: pending } = await sql`
      select price::text, currency, price_reason, lane
        from farewatch.fares_current join fare_schedule using (tracked_fare_id)
    `.execute(db)
    await record(db, fare, minute(2), dollars)

    expect(first).toEqual(['became_available'])
    expect(pending).toEqual([
      { price: '80.00', currency: 'EUR', price_reason: 'unconfirmed', lane: 'confirmation' },
    ])
    expect(await watchFeed(db, reseller)).toEqual([
      [1, 'watch_started'],
      [2, 'price_changed'],
    ])
  })

  it('a loss is believed when two answers agree, with the interval in which it happened', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available())
    await record(db, fare, minute(1), gone)
    expect(await kinds(db, fare)).toEqual(['became_available'])

    await record(db, fare, minute(2), gone)

    const { rows } = await sql`
      select kind, last_good_check_at, detected_at, before #>> '{price,amount}' as was
        from farewatch.availability_changes where seq = 2
    `.execute(db)
    expect(rows).toEqual([
      {
        kind: 'became_unavailable',
        last_good_check_at: minute(0),
        detected_at: minute(1),
        was: '100.00',
      },
    ])
    expect(await pairStates(db, fare)).toEqual(['bookable', 'not_bookable'])
  })

  it('a loss that only one answer shows is not believed, whatever timeouts surround it', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    for (const [i, answer] of [
      available(),
      silent,
      gone,
      silent,
      available(),
      gone,
      available(),
    ].entries()) {
      await record(db, fare, minute(i), answer)
    }

    expect(await kinds(db, fare)).toEqual(['became_available'])
  })

  it('after the clock of the database was set back, a belief is unknown until its next check, which counts', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(88), available('80.00'))
    await record(db, fare, minute(89), gone)
    const { rows: current } = await sql`
      select state as pair, price, price_checked_at, price_reason, last_good_check_at, age_seconds as age, stale
        from farewatch.fares_current
    `.execute(db)

    const counted = await record(db, fare, minute(0), gone)
    const afterOne = await kinds(db, fare)
    await record(db, fare, minute(1), gone)

    const unknown = { price: null, price_checked_at: null, last_good_check_at: null, age: null }
    expect(current).toEqual([{ ...unknown, pair: 'bookable', price_reason: 'stale', stale: true }])
    expect(counted).toHaveLength(1)
    // The first loss does not count: it is unknown how long ago it was.
    expect(afterOne).toEqual(['became_available'])
    const { rows: changes } = await sql`
      select kind, last_good_check_at, detected_at from farewatch.availability_changes where seq > 1
    `.execute(db)
    expect(changes).toEqual([
      { kind: 'became_unavailable', last_good_check_at: null, detected_at: minute(0) },
    ])
    expect(await pairStates(db, fare)).toEqual(['bookable', 'not_bookable'])
  })

  it('a check that finds nothing new adds no row', async ({ db }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available())
    const count = async () => {
      const { rows } = await sql<{ count: number }>`
        select (select count(*) from fare_belief_version) + (select count(*) from availability_change)
             + (select count(*) from evidence) + (select count(*) from fare_state) as count
      `.execute(db)
      return rows[0]?.count
    }
    const before = await count()

    for (let i = 1; i <= 20; i += 1) await record(db, fare, minute(i), available())

    expect(await count()).toBe(before)
  })

  it('a check whose request began before the last counted one is dropped', async ({ db }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(5), available())

    expect(await record(db, fare, minute(4), gone)).toEqual([])
    expect(await record(db, fare, minute(5), gone)).toEqual([])
    await record(db, fare, minute(6), gone)

    expect(await kinds(db, fare)).toEqual(['became_available'])
  })

  it('a confirmation goes on after an answer that is dropped for its age', async ({ db }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(5), available())
    await record(db, fare, minute(6), gone)
    const check = {
      fareId: fare,
      askedAt: minute(7),
      why: 'confirmation' as const,
      observation: { ...observation(gone), ageSeconds: 7_200 },
    }

    await inTransaction(db, async (tx) => {
      const locked = await lockFares(tx, [fare])
      const counted = countChecks([check], locked)
      expect(counted).toEqual([])
      const args = { checks: [check], locked, counted, rules: RULES, claimId: randomUUID() }
      await recordChecks(tx, { ...args, context: CALM })
    })

    const { rows } = await sql`select lane from fare_schedule`.execute(db)
    expect(rows).toEqual([{ lane: 'confirmation' }])
  })

  it('the answer behind changes is stored once, with its provenance', async ({ db }) => {
    const [a, b] = [await trackFare(db), await trackFare(db, { flightId: 'F2' })]
    await record(db, a, minute(0), available())
    await record(db, b, minute(0), available())

    const { rows } = await sql<{ evidence: number; latency: number }>`
      select (select count(*) from evidence) as evidence, (provenance ->> 'latencyMs')::int as latency
        from availability_change join evidence e on e.hash = evidence_hash
    `.execute(db)
    expect(rows).toEqual([
      { evidence: 1, latency: 12 },
      { evidence: 1, latency: 12 },
    ])
  })

  it('a first loss is followed by a confirmation, a failure by one retry, and all else by the schedule', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    const lane = async () => {
      const { rows } = await sql<{ lane: string | null; soon: boolean }>`
        select lane, lane_due_at < clock_timestamp() + interval '35 seconds' as soon from fare_schedule
      `.execute(db)
      return rows[0]
    }

    await record(db, fare, minute(0), available())
    expect(await lane()).toEqual({ lane: null, soon: null })
    await record(db, fare, minute(1), gone)
    expect(await lane()).toEqual({ lane: 'confirmation', soon: true })
    await record(db, fare, minute(2), gone)
    expect(await lane()).toEqual({ lane: null, soon: null })
    await record(db, fare, minute(3), silent)
    expect(await lane()).toEqual({ lane: 'retry', soon: true })
    await record(db, fare, minute(4), silent)
    expect(await lane()).toEqual({ lane: null, soon: null })
  })
})

describe('the feeds of resellers', () => {
  it('the feed of a reseller has the records of its watches, under dense numbers of its own', async ({
    db,
  }) => {
    const [shared, single] = [await trackFare(db), await trackFare(db, { flightId: 'F2' })]
    const ana = await watchFare(db, 'ana', shared)
    await watchFare(db, 'ana', single)
    const ben = await watchFare(db, 'ben', single)

    await record(db, shared, minute(0), available())
    await record(db, single, minute(0), available())
    await record(db, single, minute(1), gone)
    await record(db, single, minute(2), gone)

    expect(await watchFeed(db, ana)).toEqual([
      [1, 'watch_started'],
      [2, 'watch_started'],
      [3, 'became_unavailable'],
    ])
    expect(await watchFeed(db, ben)).toEqual([
      [1, 'watch_started'],
      [2, 'became_unavailable'],
    ])
  })

  it('paused watches and disabled resellers receive no record', async ({ db }) => {
    const fare = await trackFare(db)
    const paused = await watchFare(db, 'paused', fare)
    const disabled = await watchFare(db, 'disabled', fare)
    await sql`update watch set paused_at = now() where reseller_id = ${paused}`.execute(db)
    await sql`update reseller set disabled_at = now() where id = ${disabled}`.execute(db)

    await record(db, fare, minute(0), available())

    expect(await watchFeed(db, paused)).toEqual([])
    expect(await watchFeed(db, disabled)).toEqual([])
  })

  it('a price is reported once it has moved by the threshold since the last record', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    const any = await watchFare(db, 'any', fare)
    const five = await watchFare(db, 'five', fare, { amount: '5' })
    const tenth = await watchFare(db, 'tenth', fare, { percent: '10' })
    for (const [i, amount] of ['100.00', '103.00', '105.00', '104.00', '111.00'].entries()) {
      await record(db, fare, minute(i), available(amount))
    }

    const records = async (id: number) => (await watchFeed(db, id)).length - 1
    expect(await records(any)).toBe(4)
    expect(await records(five)).toBe(2)
    expect(await records(tenth)).toBe(1)
  })
})

describe('a mass loss', () => {
  it('a mass loss is held while gains and prices go on, and is checked again afterwards', async ({
    db,
  }) => {
    const fares: number[] = []
    for (let i = 0; i < 40; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
    for (const fare of fares) await record(db, fare, minute(0), available())
    for (const fare of fares) await record(db, fare, minute(1), gone)
    for (const fare of fares) await record(db, fare, minute(2), gone)

    const lost = await sql<{ count: number }>`
      select count(*) as count from availability_change where kind = 'became_unavailable'
    `.execute(db)
    const incidents = await sql<{ kind: string }>`
      select kind from incident where closed_at is null
    `.execute(db)
    expect(lost.rows[0]?.count).toBeLessThan(20)
    expect(incidents.rows).toEqual([{ kind: 'mass_loss' }])

    for (const fare of fares) await record(db, fare, minute(3), available('90.00'))
    // The counts before a check decide whether the incident goes on, so the next check ends it.
    await record(db, fares[0] ?? 0, minute(4), available('90.00'))

    const after = await sql<{ open: number; bookable: number }>`
      select (select count(*) from incident where closed_at is null) as open,
             (select count(*) from fare_state where pair = 'bookable') as bookable
    `.execute(db)
    expect(after.rows).toEqual([{ open: 0, bookable: 40 }])
  })
})
