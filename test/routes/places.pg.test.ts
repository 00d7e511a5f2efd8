import { describe, expect } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Place } from '../../src/upstream/route-list.ts'
import { it } from '../support/test-database.ts'
import { place, sync } from './sync-fixtures.ts'

async function cityOf(db: Db, id: string): Promise<string[]> {
  const { rows } = await sql<{ city: string }>`
    select city from farewatch.place_history where place_id = ${id} order by valid_from
  `.execute(db)
  return rows.map((row) => row.city)
}

const to = (destination: Place) => ({ departure: place('PMI'), destination })

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
