import { describe, expect } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import type { Place } from '../../src/upstream/route-list.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'
import { it } from '../support/test-database.ts'
import { NO_GUARD, place, sync } from './sync-fixtures.ts'

async function cityOf(db: Db, id: string): Promise<string[]> {
  const { rows } = await sql<{ city: string }>`
    select city from farewatch.place_history where place_id = ${id} order by valid_from
  `.execute(db)
  return rows.map((row) => row.city)
}

const to = (destination: Place) => ({ departure: place('PMI'), destination })

// Fault: Hostile text: stored clean, or rejected.
describe('places', () => {
  it('the name of a place may hold emoji, right-to-left text and markup', async ({ db }) => {
    const city = '🛫 مدريد <b>"x"</b>, =1+1'
    await sync(db, [to(place('MAD', { city }))])

    expect(await cityOf(db, 'MAD')).toEqual([city])
  })

  it('our credential is masked when the upstream sends it in the name of a place', async ({
    db,
  }) => {
    const scrub = createScrub(['CANARY-token-123456'])
    await sync(db, [to(place('MAD', { city: 'see CANARY-token-123456' }))], { scrub })
    const asId = await sync(db, [to(place('CANARY-token-123456'))], { scrub })

    expect(await cityOf(db, 'MAD')).toEqual(['see [redacted]'])
    expect(asId).toMatchObject({
      status: 'rejected',
      reason: { code: 'upstream.contract_violation' },
    })
  })
})

describe('the code of a place', () => {
  const placeOf = async (db: Db, iata: string) => {
    const { rows } = await sql<{ place_id: string | null }>`
      select place_id from place_code where iata = ${iata}
    `.execute(db)
    return rows.map((row) => row.place_id)
  }

  it('stands for the place that the last list shows, and for none of two', async ({ db }) => {
    const other = {
      departure: place('X', { iata: 'PMI', country: 'France' }),
      destination: place('MAD'),
    }
    await sync(db, [to(place('MAD')), other], { guard: NO_GUARD })
    expect(await placeOf(db, 'PMI')).toEqual([null])

    await sync(db, [other], { guard: NO_GUARD })

    expect(await placeOf(db, 'PMI')).toEqual(['X'])
  })
})

/** Text as lists before the normalization left it: the letters in parts, with white space around them. */
const loose = (text: string) => `${WHITE_SPACE}${text.normalize('NFD')}${WHITE_SPACE}`
const WHITE_SPACE = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
  .filter((char) => char.trim() === '')
  .join('')

describe('the upgrade to normalized texts', () => {
  it('makes the next list change nothing, also where new texts were pending', async () => {
    const { db } = openAnother(await createEmptyDatabase())
    await migrate(db, { last: '0035_turns' })
    const mad = sql`'MAD', 'MAD ', ${loose('Málaga')}, ${loose('España')}`
    await sql`
      with run as (
             insert into sync_run (list, status, baseline, started_at, fetched_at, finished_at)
             select 'routes', 'applied', true, at, at, at from (select date_trunc('day', now()) as at) t
             returning id, fetched_at as at),
           known as (
             insert into place_version (place_id, iata, city, country, valid_from)
             select 'PMI', 'PMI', 'City PMI', 'Spain', at from run union all select ${mad}, at from run),
           pending as (
             insert into pending_place (place_id, iata, city, country, lists, last_seen_at, first_missed_at)
             select ${mad}, 1, at, at from run)
      insert into route_version (departure_id, destination_id, valid_from, added_by)
      select 'PMI', 'MAD', at, id from run
    `.execute(db)
    await migrate(db)
    const again = [
      to(place('MAD', { iata: 'MAD ', city: loose('Málaga'), country: 'España' })),
      to(place('BCN')),
    ]

    expect(await sync(db, again)).toMatchObject({ added: 1, placesChanged: 0, pendingPlaces: 0 })
  })
})
