import { describe, expect } from 'vitest'
import { recordBatch } from '../../src/fares/check.ts'
import { verifyOnDemand } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { acceptHabit, listHabits, readHabits } from '../../src/upstream/flights/answer-habits.ts'
import type { LegObservation, Observation } from '../../src/upstream/observation.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  gone,
  kinds,
  minute,
  observation,
  RULES,
  recordAll,
  trackFares,
} from './fare-fixtures.ts'

const { signal } = new AbortController()

function depsOf(db: Db, answer: LegObservation = gone) {
  const upstream = { verifyFares: async () => observation(answer) }
  const rules = { ...RULES, requestsPerSecond: 200 }
  return { db, upstream, clock: systemClock, rules, metrics: createMetrics(), log: silentLog }
}

/** Records the same answer about fares, as a batch of checks does. */
async function answer(
  db: Db,
  fareIds: readonly number[],
  { at, ...observed }: Partial<Observation> & { readonly at: Date },
): Promise<ReturnType<typeof createMetrics>> {
  const deps = depsOf(db)
  const checks = fareIds.map((fareId) => ({
    fareId,
    askedAt: at,
    why: 'on_demand' as const,
    observation: { ...observation(gone), ...observed },
  }))
  await recordBatch(deps, { checks, late: [], blocked: [] }, null)
  return deps.metrics
}

const goneWith = (...members: string[]): LegObservation => ({ kind: 'unavailable', members })

function unlikeSum(amount: string): LegObservation {
  const leg = available(amount)
  if (leg.kind !== 'available') throw new Error('it is available')
  return { ...leg, flight: { ...leg.flight, totalUnlikeSum: true, priceIsOdd: true } }
}

/** Fares that are believed unavailable. */
async function soldOut(db: Db, count: number): Promise<number[]> {
  const fareIds = await trackFares(db, count)
  for (const at of [0, 1]) await recordAll(db, fareIds, minute(at), gone)
  return fareIds
}

async function usualIn(db: Db): Promise<string[]> {
  return [...(await readHabits(db, [])).usual]
}

async function passHours(db: Db, hours: number): Promise<void> {
  await sql`
    update answer_habit
       set most_since = most_since - make_interval(hours => ${hours}), last_seen_at = last_seen_at - make_interval(hours => ${hours})
  `.execute(db)
}

async function shownReason(db: Db, fareId: number): Promise<string | null> {
  const { rows } = await sql<{ reason: string | null }>`
    select last_reason as reason from farewatch.fares_current where fare_id = ${fareId}
  `.execute(db)
  return rows[0]?.reason ?? null
}

describe('a member that the interface does not have', () => {
  it('makes "not available" unknown, in checks and on demand, until an operator accepts it', async ({
    db,
  }) => {
    const [fareId = 0] = await trackFares(db, 1)
    await recordAll(db, [fareId], minute(0), available())
    for (const at of [1, 2, 3]) {
      await answer(db, [fareId], { at: minute(at), outbound: goneWith('message') })
    }
    const question = questionWith({ flightId: '1' })
    const onDemand = () => verifyOnDemand(depsOf(db, goneWith('message')), question, signal)

    expect(await kinds(db, fareId)).toEqual(['first_seen'])
    expect(await shownReason(db, fareId)).toBe('unknown_members')
    expect((await onDemand()).result).toMatchObject({ kind: 'unknown', reason: 'unknown_members' })
    expect(await listHabits(db)).toMatchObject([{ name: 'message', answers: 3, isUsual: false }])

    await acceptHabit(db, 'message', true)
    for (const at of [4, 5]) {
      await answer(db, [fareId], { at: minute(at), outbound: goneWith('message') })
    }

    expect(await kinds(db, fareId)).toEqual(['first_seen', 'became_unavailable'])
    expect((await onDemand()).result.kind).toBe('known')
  })

  // Fault: An upstream that fails says `available: false` with a message, a reason, `success: false`, `retryAfter` or
  // `partial`. No loss is recorded until that is usual or accepted.
  it('is usual when most answers about fares believed unavailable have had it for a day', async ({
    db,
  }) => {
    const fareIds = await soldOut(db, 10)
    for (let at = 2; at < 10; at += 1) {
      await answer(db, fareIds, { at: minute(at), outbound: goneWith('message') })
    }
    expect((await listHabits(db))[0]?.share).toBeCloseTo(1 - 0.99 ** 80)
    expect(await usualIn(db)).toEqual([])

    await passHours(db, 25)

    expect(await usualIn(db)).toEqual(['message'])
  })

  it('of which there are ever new ones fill no table', async ({ db }) => {
    const fareIds = await soldOut(db, 1)
    const names = Array.from({ length: 130 }, (_, at) => `request-${at}`)
    await answer(db, fareIds, { at: minute(2), outbound: goneWith(...names) })

    expect(await listHabits(db)).toHaveLength(100)
    await passHours(db, 25)
    await answer(db, fareIds, { at: minute(3), outbound: goneWith('new') })
    expect(await listHabits(db)).toMatchObject([{ name: 'new' }])
  })
})

describe('a total that is not the sum of its passengers', () => {
  // Fault: A cache ignores the passengers.
  it('is no price where totals have been sums', async ({ db }) => {
    const fareIds = await trackFares(db, 2)
    const [fareId = 0] = fareIds
    await answer(db, fareIds, { at: minute(0), outbound: available('835.08') })
    for (const at of [1, 2, 3]) {
      await answer(db, fareIds, { at: minute(at), outbound: unlikeSum('278.36') })
    }

    const { rows } = await sql`
      select price::text, price_reason from fare_state where tracked_fare_id = ${fareId}
    `.execute(db)
    expect(rows).toEqual([{ price: '835.08', price_reason: 'unreadable' }])
    expect(await kinds(db, fareId)).toEqual(['first_seen'])
    expect(await listHabits(db)).toMatchObject([{ name: 'total_unlike_sum', answers: 6 }])
  })
})

describe('an answer with the Date of the one before', () => {
  const dated = (seconds: number) => new Date(minute(0).getTime() + seconds * 1_000)
  const copied = async (metrics: ReturnType<typeof createMetrics>) =>
    (await metrics.checksDropped.get()).values.find(({ labels }) => labels.reason === 'copied')
      ?.value

  // Fault: A cache goes on with one old answer.
  it('is a copy and is dropped if it was asked over two seconds later', async ({ db }) => {
    const fareIds = await trackFares(db, 1)
    const datedAt = dated(1)
    await answer(db, fareIds, { at: dated(0), outbound: available(), datedAt })

    const metrics = await answer(db, fareIds, { at: dated(3), outbound: available(), datedAt })

    expect(await copied(metrics)).toBe(1)
    const { asked_at, checks } = await db
      .selectFrom('fare_state')
      .select(['asked_at', 'checks'])
      .executeTakeFirstOrThrow()
    expect([asked_at, checks]).toEqual([dated(0), 1])
  })

  it.for([
    ['asked within two seconds', 2, 1],
    ['with another Date', 60, 61],
    ['without a Date', 60, undefined],
    ['with a Date of more than ten minutes ago', 602, 1],
  ] as const)('counts %s', async ([_, seconds, date], { db }) => {
    const fareIds = await trackFares(db, 1)
    await answer(db, fareIds, { at: dated(0), outbound: available(), datedAt: dated(1) })
    const later = date === undefined ? {} : { datedAt: dated(date) }

    const metrics = await answer(db, fareIds, {
      at: dated(seconds),
      outbound: available(),
      ...later,
    })

    expect(await copied(metrics)).toBe(0)
    const { checks } = await db.selectFrom('fare_state').select('checks').executeTakeFirstOrThrow()
    expect(checks).toBe(2)
  })
})
