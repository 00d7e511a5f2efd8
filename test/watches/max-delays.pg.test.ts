import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { planWatchImport } from '../../src/watches/import/import-watch-list.ts'
import { findUnkeptMaxDelays } from '../../src/watches/max-delays.ts'
import { rowsOf } from '../../src/watches/rows/watch-row.ts'
import { it } from '../support/test-database.ts'
import {
  cells,
  importRows,
  knowBudget,
  manyCells,
  newReseller,
  resellerWith,
  watchRows,
} from './watch-fixtures.ts'

/** One reseller may ask for 0.07 checks a second: four fares within 60 s, but not five. */
const RULES = { requestsPerSecond: 0.1, minRecheckSeconds: 60 }
const MINUTE = { max_delay_seconds: '60' }

async function countAsWorker(db: Db, rules: Partial<typeof RULES> = {}): Promise<void> {
  const { requestsPerSecond, minRecheckSeconds } = { ...RULES, ...rules }
  await knowBudget(db, requestsPerSecond, minRecheckSeconds)
}

interface Bounds {
  readonly maxDelaySeconds: number | null
  readonly maxDelays: readonly (number | null)[]
}

async function boundsOf(db: Db, flightId: string): Promise<Bounds | undefined> {
  const { rows } = await sql<Bounds>`
    select f.max_delay_seconds as "maxDelaySeconds",
           array(select max_seconds from turn t where t.tracked_fare_id = f.id order by t.reseller_id) as "maxDelays"
      from tracked_fare f join fare_schedule q on q.tracked_fare_id = f.id
     where f.flight_id = ${flightId}
  `.execute(db)
  return rows[0]
}

describe('longest delays', () => {
  it('are accepted up to seven tenths of the own share, and refused beyond with the arithmetic', async ({
    db,
  }) => {
    await countAsWorker(db)
    const resellerId = await newReseller(db)
    await importRows(db, resellerId, manyCells(4, MINUTE))
    const more = [
      ...manyCells(5, MINUTE),
      cells({ reference: 'Z', flight_id: 'Z', max_delay_seconds: '600' }),
    ]
    const before = await watchRows(db, resellerId)

    const refused = {
      code: 'quota.max_delays',
      message:
        'max_delay_seconds: 5 fares / 60 s + 1 fare / 600 s = 0.085 checks a second, but 0.07 are allowed: ' +
        '0.7 of the 0.1 checks a second of your share; nothing was changed',
    }
    await expect(importRows(db, resellerId, more)).rejects.toMatchObject(refused)
    const plan = planWatchImport(db, { resellerId, source: rowsOf('rows', more) })
    await expect(plan).rejects.toMatchObject(refused)
    expect(await watchRows(db, resellerId)).toEqual(before)
  })

  it('of several watches of one fare count once, by the shortest', async ({ db }) => {
    await countAsWorker(db)
    const same = Array.from({ length: 9 }, (_, i) => cells({ reference: `S${i}`, ...MINUTE }))

    await resellerWith(db, same)

    expect(await boundsOf(db, '101')).toEqual({
      maxDelaySeconds: 60,
      maxDelays: [60],
    })
  })

  it('that were accepted stay when the share shrinks, and the status names what is not kept', async ({
    db,
  }) => {
    await countAsWorker(db)
    const resellerId = await resellerWith(db, manyCells(4, MINUTE))
    expect(await findUnkeptMaxDelays(db)).toEqual([])

    const other = await newReseller(db, 'fabrikam')
    await importRows(db, resellerId, [
      ...manyCells(4, MINUTE),
      cells({ reference: 'plain', flight_id: 'P' }),
    ])
    await importRows(db, resellerId, manyCells(3, MINUTE))
    const more = importRows(db, resellerId, [cells({ reference: 'N', flight_id: 'N', ...MINUTE })])
    await expect(more).rejects.toMatchObject({ code: 'quota.max_delays' })

    const unkept = {
      reseller: 'northwind',
      fares: 4,
      tooShort: 0,
      neededPerSecond: expect.closeTo(4 / 60),
      allowedPerSecond: expect.closeTo(0.035),
    }
    expect(await findUnkeptMaxDelays(db)).toEqual([unkept])
    expect(await findUnkeptMaxDelays(db, { resellerId: other as never })).toEqual([])
  })

  it('must be within reach: no less than the intervals of the watch and of the workers', async ({
    db,
  }) => {
    await countAsWorker(db)
    const resellerId = await newReseller(db)
    const short = [
      cells({ reference: 'A', max_delay_seconds: '59' }),
      cells({ reference: 'B', max_delay_seconds: '60', min_interval_seconds: '61' }),
    ]

    const message = (line: number, text: string) => ({
      line,
      errors: [{ column: 'max_delay_seconds', message: text }],
    })
    const rows = [
      message(2, 'must not be less than min_interval_seconds, 61'),
      message(1, 'must be at least 60, the minimum interval between two checks'),
    ]
    const refused = { invalid: { rows } }
    await expect(importRows(db, resellerId, short)).rejects.toMatchObject(refused)
    const plan = planWatchImport(db, { resellerId, source: rowsOf('rows', short) })
    await expect(plan).rejects.toMatchObject(refused)
  })

  it('are kept of each reseller of a shared fare, and count for its own checks', async ({ db }) => {
    await countAsWorker(db)
    const [ana, bob] = [await newReseller(db, 'ana'), await newReseller(db, 'bob')]
    await importRows(db, ana, [cells()])
    await importRows(db, bob, [cells({ max_delay_seconds: '600' })])
    expect(await boundsOf(db, '101')).toEqual({ maxDelaySeconds: 600, maxDelays: [null, 600] })

    await importRows(db, ana, [cells({ max_delay_seconds: '300' })])
    expect(await boundsOf(db, '101')).toEqual({ maxDelaySeconds: 300, maxDelays: [300, 600] })
    await importRows(db, ana, [cells()])
    expect(await boundsOf(db, '101')).toEqual({ maxDelaySeconds: 600, maxDelays: [null, 600] })
  })
})
