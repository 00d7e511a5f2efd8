import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { it } from '../support/test-database.ts'
import { json } from '../upstream/answering-server.ts'
import { available, price } from '../upstream/verify-fixtures.ts'
import { trackFare, watchFare } from '../verify/fare-fixtures.ts'
import { gone, keyOf, ONE_ADULT, scene } from './verify-scene.ts'

const ASKED = `flightId=1234&${ONE_ADULT}`
const YOUNG = `${ASKED}&maxAge=600`
const HERE = json(JSON.stringify(available()))
const DEARER = json(
  JSON.stringify(
    available({
      price: price({
        total: '90.00',
        nonResidents: { adult: 90, child: null, infant: null },
      }),
    }),
  ),
)

/** A fare that one reseller watches. */
async function watched(db: Db): Promise<{ fareId: number; key: string }> {
  const fareId = await trackFare(db, { flightId: '1234' })
  return { fareId, key: await keyOf(db, await watchFare(db, 'alpha', fareId)) }
}

/** Lets time pass for what is known of all fares: every instant in it lies so much further back. */
async function age(db: Db, seconds: number): Promise<void> {
  await sql`
    update fare_state
       set asked_at = asked_at - make_interval(secs => ${seconds}::int),
           state = jsonb_set(state, '{outbound,agreedAt}', to_jsonb(to_char(
                     (state #>> '{outbound,agreedAt}')::timestamptz - make_interval(secs => ${seconds}::int),
                     'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  `.execute(db)
  await sql`update watch set began_at = began_at - interval '1 day'`.execute(db)
}

describe('maxAge', () => {
  it('lets an observation do that is younger, and says when it was made', async ({ db }) => {
    const { key } = await watched(db)
    const { get, asked } = await scene(db, HERE)
    const live = await get(ASKED, key)

    const known = await get(YOUNG, key)

    expect(asked).toHaveLength(1)
    expect(known.status).toBe(200)
    expect(known.body).toEqual(live.body)
    const at = Date.parse(known.headers.get('farewatch-observed-at') ?? '')
    expect(Math.abs(Date.now() - at)).toBeLessThan(30_000)
    expect(live.headers.get('farewatch-observed-at')).toBeNull()
  })

  it('of 0, and where it is missing, asks the upstream', async ({ db }) => {
    const { key } = await watched(db)
    const { get, asked } = await scene(db, HERE)

    for (const query of [ASKED, ASKED, `${ASKED}&maxAge=0`]) await get(query, key)

    expect(asked).toHaveLength(3)
  })

  it('lets no older observation do', async ({ db }) => {
    const { key } = await watched(db)
    const { get, asked } = await scene(db, HERE)
    await get(ASKED, key)
    await age(db, 700)

    const older = await get(`${ASKED}&maxAge=800`, key)
    expect(older.headers.get('farewatch-observed-at')).not.toBeNull()
    expect(asked).toHaveLength(1)

    const younger = await get(YOUNG, key)
    expect(younger.headers.get('farewatch-observed-at')).toBeNull()
    expect(asked).toHaveLength(2)
  })

  it('shows the flight as it was last seen', async ({ db }) => {
    const { key } = await watched(db)
    const { get, say, asked } = await scene(db, HERE)
    await get(ASKED, key)
    say(DEARER)
    const live = await get(ASKED, key)
    await get(ASKED, key)

    const known = await get(YOUNG, key)

    expect(known.text).toContain('"total":"90.00"')
    expect(known.body).toEqual(live.body)
    expect(asked).toHaveLength(3)
  })

  it('lets do that a flight is gone, once that is believed', async ({ db }) => {
    const { key } = await watched(db)
    const { get, asked } = await scene(db, gone('1234'))
    await get(ASKED, key)
    await get(YOUNG, key)
    expect(asked).toHaveLength(2)

    const known = await get(YOUNG, key)

    expect(asked).toHaveLength(2)
    expect(known.text).toBe('{"1234":{"available":false}}')
  })

  it('asks while what was last seen contradicts what is believed', async ({ db }) => {
    const { key } = await watched(db)
    const { get, say, asked } = await scene(db, HERE)
    await get(ASKED, key)
    say(gone('1234'))
    await get(ASKED, key)

    await get(YOUNG, key)

    expect(asked).toHaveLength(3)
  })

  it('lets an answer that told nothing neither do nor undo', async ({ db }) => {
    const { key } = await watched(db)
    const { get, say, asked } = await scene(db, HERE)
    await get(ASKED, key)
    say(json('{}'))
    expect((await get(ASKED, key)).status).toBe(503)

    const known = await get(YOUNG, key)

    expect(known.status).toBe(200)
    expect(asked).toHaveLength(2)
  })

  it('asks where the flight itself is not kept any more', async ({ db }) => {
    const { key } = await watched(db)
    const { get, asked } = await scene(db, HERE)
    await get(ASKED, key)
    await sql`update availability_change set evidence_hash = null`.execute(db)

    await get(YOUNG, key)

    expect(asked).toHaveLength(2)
  })
})

describe('what others watch', () => {
  it.for([
    ['nobody but another reseller watches', async () => undefined],
    [
      'the caller’s watch is paused',
      async (db, { resellerId, fareId }) => {
        await watchFare(db, 'beta', fareId)
        await sql`
          update watch set paused_at = clock_timestamp(), began_at = began_at - interval '1 day'
           where reseller_id = ${resellerId}
        `.execute(db)
      },
    ],
    [
      'the caller has begun to watch since',
      async (db, { fareId }) => {
        await watchFare(db, 'beta', fareId)
      },
    ],
  ] as readonly (readonly [
    string,
    (db: Db, beta: { resellerId: number; fareId: number }) => Promise<void>,
  ])[])('is asked anew where %s', async ([, begin], { db }) => {
    const { fareId, key } = await watched(db)
    const other = await trackFare(db, { flightId: 'other' })
    const resellerId = await watchFare(db, 'beta', other)
    const beta = await keyOf(db, resellerId)
    const { get, asked } = await scene(db, HERE)
    await get(ASKED, key)
    await begin(db, { resellerId, fareId })

    const answer = await get(YOUNG, beta)

    expect(answer.headers.get('farewatch-observed-at')).toBeNull()
    expect(asked).toHaveLength(2)
  })

  it('is known to a reseller from the first observation since it watches', async ({ db }) => {
    const { fareId, key } = await watched(db)
    const { get, asked } = await scene(db, HERE)
    await get(ASKED, key)
    const beta = await keyOf(db, await watchFare(db, 'beta', fareId))
    await get(ASKED, key)

    const answer = await get(YOUNG, beta)

    expect(answer.headers.get('farewatch-observed-at')).not.toBeNull()
    expect(asked).toHaveLength(2)
  })

  it('is not an operator’s to take either', async ({ db }) => {
    await watched(db)
    const { get, asked } = await scene(db, HERE)

    await get(YOUNG)
    await get(YOUNG)

    expect(asked).toHaveLength(2)
  })
})

it('both flights of a pair must have been seen', async ({ db }) => {
  const fareId = await trackFare(db, { flightId: '1234', returnFlightId: '77' })
  const key = await keyOf(db, await watchFare(db, 'alpha', fareId))
  const both = { ...available(), ...available({ id: 77 }, '77') }
  const { get, say, asked } = await scene(db, json(JSON.stringify(both)))
  const pair = `flightId=1234&returnFlightId=77&${ONE_ADULT}`
  const live = await get(pair, key)
  const known = await get(`${pair}&maxAge=60`, key)
  expect(known.body).toEqual(live.body)
  expect(asked).toHaveLength(1)

  say(json(JSON.stringify({ ...both, 77: { available: false } })))
  await get(pair, key)
  await get(`${pair}&maxAge=60`, key)

  expect(asked).toHaveLength(3)
})
