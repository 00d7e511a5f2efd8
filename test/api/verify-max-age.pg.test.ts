import { describe, expect } from 'vitest'
import { findCachedObservation, publishResult } from '../../src/fares/verify.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { available as AVAILABLE, record, trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'
import { json } from '../upstream/answering-server.ts'
import { available, question } from '../upstream/verify-fixtures.ts'
import { keyOf, ONE_ADULT, startFixture } from './verify-fixture.ts'

const ASKED = `flightId=1234&${ONE_ADULT}`
const YOUNG = `${ASKED}&maxAge=600`
const HERE = json(JSON.stringify(available()))

interface Kept {
  readonly askedAt: Date
  readonly body: string
}

async function keptAnswers(db: Db): Promise<readonly Kept[]> {
  const { rows } = await sql<Kept>`
    select asked_at as "askedAt", body from verify_result order by asked_at
  `.execute(db)
  return rows
}

/** Makes every kept answer older. */
async function age(db: Db, seconds: number): Promise<void> {
  await sql`
    update verify_result set asked_at = asked_at - make_interval(secs => ${seconds}::int)
  `.execute(db)
}

function ago(seconds: number): Date {
  return new Date(Date.now() - seconds * 1_000)
}

describe('maxAge', () => {
  it('a kept answer is returned with exactly its body and the instant of its request', async ({
    db,
  }) => {
    const { get, asked } = await startFixture(db, HERE)
    const startMs = Date.now()
    const live = await get(ASKED)

    const known = await get(YOUNG)

    expect(asked).toHaveLength(1)
    expect(live.headers.get('farewatch-observed-at')).toBeNull()
    expect(known.status).toBe(200)
    expect(known.text).toBe(live.text)
    const observedAt = new Date(known.headers.get('farewatch-observed-at') ?? '')
    expect(await keptAnswers(db)).toEqual([{ askedAt: observedAt, body: live.text }])
    expect(observedAt.getTime()).toBeGreaterThan(startMs - 1_000)
    expect(observedAt.getTime()).toBeLessThanOrEqual(Date.now())
  })

  it('an answer replaces a kept one whose time lies ahead of the clock', async ({ db }) => {
    const { get } = await startFixture(db, HERE)
    await get(ASKED)
    await age(db, -3_600)
    const startMs = Date.now()

    await get(ASKED)

    const [kept] = await keptAnswers(db)
    expect(kept?.askedAt.getTime()).toBeLessThan(startMs + 60_000)
  })

  it('a request with maxAge 0 or without maxAge calls the upstream', async ({ db }) => {
    const { get, asked } = await startFixture(db, HERE)

    for (const query of [ASKED, ASKED, `${ASKED}&maxAge=0`]) await get(query)

    expect(asked).toHaveLength(3)
  })

  it('an answer that is older than maxAge is not used', async ({ db }) => {
    const { get, asked } = await startFixture(db, HERE)
    await get(ASKED)
    await age(db, 300)

    const older = await get(`${ASKED}&maxAge=400`)
    expect(older.headers.get('farewatch-observed-at')).not.toBeNull()
    expect(asked).toHaveLength(1)

    const younger = await get(`${ASKED}&maxAge=200`)
    expect(younger.headers.get('farewatch-observed-at')).toBeNull()
    expect(asked).toHaveLength(2)
  })

  it('the kept answer is returned although a newer call got no answer', async ({ db }) => {
    const { get, setAnswer, asked } = await startFixture(db, HERE)
    const live = await get(ASKED)
    setAnswer((_, response) => response.writeHead(500).end('oops'))
    expect((await get(ASKED)).status).toBe(503)

    const known = await get(YOUNG)

    expect(known.status).toBe(200)
    expect(known.text).toBe(live.text)
    expect(asked).toHaveLength(2)
  })

  it('every caller gets the kept answer, whether or not it watches the fare', async ({ db }) => {
    const fareId = await trackFare(db, { flightId: '1234' })
    const other = await trackFare(db, { flightId: 'other' })
    const alpha = await keyOf(db, await watchFare(db, 'alpha', fareId))
    const beta = await keyOf(db, await watchFare(db, 'beta', other))
    const { get, asked } = await startFixture(db, HERE)
    const live = await get(ASKED, alpha)

    const known = await Promise.all([get(YOUNG, alpha), get(YOUNG, beta), get(YOUNG)])

    expect(known.map(({ text }) => text)).toEqual([live.text, live.text, live.text])
    expect(asked).toHaveLength(1)
  })
})

describe('a request with maxAge', () => {
  it.for([
    ['other passengers', 'flightId=1234&residents[adults]=0&nonResidents[adults]=2'],
    ['another residence', 'flightId=1234&residents[adults]=1&nonResidents[adults]=0'],
    ['another return flight', `flightId=1234&returnFlightId=77&${ONE_ADULT}`],
  ])(
    'a request for %s than that of the kept answer calls the upstream',
    async ([, query], { db }) => {
      const { get, asked } = await startFixture(db, HERE)
      await get(ASKED)

      const answer = await get(`${query}&maxAge=600`)

      expect(answer.headers.get('farewatch-observed-at')).toBeNull()
      expect(asked).toHaveLength(2)
    },
  )

  it('a request after a call that got no answer calls the upstream', async ({ db }) => {
    const { get, setAnswer, asked } = await startFixture(db, json('{}'))
    expect((await get(YOUNG)).status).toBe(503)
    expect(await keptAnswers(db)).toEqual([])
    setAnswer(HERE)

    expect((await get(YOUNG)).status).toBe(200)

    expect(asked).toHaveLength(2)
  })

  it('a request after scheduled checks only calls the upstream', async ({ db }) => {
    const fareId = await trackFare(db, { flightId: '1234' })
    const key = await keyOf(db, await watchFare(db, 'alpha', fareId))
    await record(db, fareId, ago(10), AVAILABLE())
    const { get, asked } = await startFixture(db, HERE)

    await get(YOUNG, key)

    expect(asked).toHaveLength(1)
  })
})

describe('kept answers', () => {
  it('the answer whose request began later is kept, whichever is written last', async ({ db }) => {
    const later = { askedAt: ago(10), body: 'later' }
    await publishResult(db, question(), later)
    await publishResult(db, question(), { askedAt: ago(20), body: 'earlier' })

    expect(await findCachedObservation(db, question(), 600)).toEqual(later)
  })

  it('an answer of ten minutes ago is deleted when the next one is kept', async ({ db }) => {
    for (const [flightId, seconds] of [
      ['1', 590],
      ['2', 610],
      ['3', 5_000],
    ] as const) {
      await publishResult(db, question({ flightId }), { askedAt: ago(seconds), body: flightId })
    }

    await publishResult(db, question({ flightId: '4' }), { askedAt: ago(1), body: '4' })

    expect((await keptAnswers(db)).map(({ body }) => body)).toEqual(['1', '4'])
  })

  it('the deletion does not wait for a process that replaces an expired answer', async ({ db }) => {
    await publishResult(db, question({ flightId: '1' }), { askedAt: ago(10), body: '1' })
    await publishResult(db, question({ flightId: '2' }), { askedAt: ago(10), body: '2' })
    await age(db, 700)

    await db.transaction().execute(async (tx) => {
      await sql`update verify_result set body = 'replaced' where body = '1'`.execute(tx)
      await publishResult(db, question({ flightId: '3' }), { askedAt: ago(1), body: '3' })
    })

    expect((await keptAnswers(db)).map(({ body }) => body)).toEqual(['replaced', '3'])
  })
})
