import { describe, expect } from 'vitest'
import { countContents, deleteMarked, markForDeletion } from '../../src/app/delete-reseller.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { findReseller } from '../../src/resellers/resellers.ts'
import { appendRecords } from '../api/append-records.ts'
import { openEvents } from '../api/event-client.ts'
import {
  callsOf,
  fareOf,
  listWith,
  newCaller,
  type ResellerCalls,
  watch,
} from '../api/reseller-calls.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const RECORDS = 30

/** A reseller with a list, records, an endpoint and deliveries. */
async function busyReseller(db: Db, base: string, name: string): Promise<ResellerCalls> {
  const caller = await newCaller(db, base, name)
  await listWith(caller, 'summer', [watch('A-1'), watch('B-1', { flightId: '102' })])
  const fares = [await fareOf(db, '101'), await fareOf(db, '102')]
  await appendRecords(db, { resellerId: caller.resellerId, fares, count: RECORDS, padding: 0 })
  await sql`
    with e as (
      insert into webhook_endpoint (reseller_id, format, target, target_shown, cursor_seq)
      values (${caller.resellerId}, 'email', 'x', 'x', 0) returning id
    ), d as (
      insert into delivery (endpoint_id, seq, previous_seq, recorded_at)
      select e.id, s, s - 1, now() from e, generate_series(1, ${RECORDS}) s returning id
    )
    insert into delivery_attempt (delivery_id, started_at, duration_ms, outcome)
    select id, now(), 1, 'timeout' from d
  `.execute(db)
  return caller
}

/** How many rows there are that name a reseller, or belong to what does; of all resellers unless of one. */
async function rowsOf(db: Db, { resellerId }: { resellerId?: number } = {}) {
  const own = sql`where ${resellerId ?? null}::bigint is null or reseller_id = ${resellerId ?? null}`
  const { rows } = await sql<Record<string, number>>`
    select (select count(*) from (select id as reseller_id from reseller) r ${own}) as reseller,
           (select count(*) from api_key ${own}) as keys,
           (select count(*) from watch ${own}) as watches,
           (select count(*) from watch_list ${own}) as lists,
           (select count(*) from watch_change ${own}) as records,
           (select count(*) from webhook_endpoint ${own}) as endpoints,
           (select count(*) from delivery_attempt a join delivery d on d.id = a.delivery_id
                                                   join webhook_endpoint e on e.id = d.endpoint_id ${own}) as attempts
  `.execute(db)
  return rows[0] ?? {}
}

describe('the deletion of a reseller', () => {
  it('ends its keys and streams at once, deletes all that is its own, and nothing of another', async ({
    db,
  }) => {
    let nowMs = 0
    const base = await startApi(db, { streams: { lasting: true }, nowMs: () => nowMs })
    const ben = await busyReseller(db, base, 'ben')
    const before = await rowsOf(db)
    const ana = await busyReseller(db, base, 'ana')
    const contents = await countContents(db, ana.resellerId)
    expect(contents).toEqual({
      keys: 1,
      endpoints: 1,
      deliveries: RECORDS,
      records: RECORDS,
      lists: 1,
      watches: 2,
    })
    const stream = await openEvents(`${base}/api/v1/watch-changes/stream?after=0`, { key: ana.key })

    await markForDeletion(db, ana.resellerId)

    expect(await findReseller(db, 'ana')).toMatchObject({ disabledAt: expect.any(Date) as Date })
    expect(await deleteMarked(db, {})).toEqual(['ana'])
    expect(new Set(Object.values(await rowsOf(db, ana)))).toEqual(new Set([0]))
    expect(await rowsOf(db)).toEqual(before)
    expect(await rowsOf(db, ben)).toMatchObject({ watches: 2, records: RECORDS })
    await stream.rest()
    // The key is cached for less than a second.
    nowMs += 1_000
    const again = await newCaller(db, base, 'ana')
    const old = await ask(`${base}/api/v1/caller`, { headers: bearer(ana.key) })
    expect(old).toMatchObject({ status: 401, body: { code: 'access.unknown_key' } })
    expect(again.resellerId).not.toBe(ana.resellerId)
    await again.play(['GET /watch-changes?after=0', undefined, { items: [], head: 0 }])
  })

  // Fault: The deletion of a reseller is killed. Its keys have ended, its name is taken, and a worker or another command goes
  // on.
  it('that was interrupted goes on, and the name is taken until its end', async ({ db }) => {
    const base = await startApi(db)
    const ana = await busyReseller(db, base, 'ana')
    await markForDeletion(db, ana.resellerId)
    const ending = new AbortController()

    const interrupted = deleteMarked(db, {
      signal: ending.signal,
      onBatch: () => ending.abort(new Error('killed')),
    })
    await expect(interrupted).rejects.toThrow('killed')
    expect(await rowsOf(db, ana)).toMatchObject({
      reseller: 1,
      keys: 0,
      records: RECORDS,
    })
    const operator = await newKeyText(db)
    await callsOf(base, operator).play(['POST /resellers', { name: 'ana' }, 409])
    // An operator does not know of the deletion.
    await newKeyText(db, { resellerId: ana.resellerId })

    expect(await deleteMarked(db, {})).toEqual(['ana'])
    expect(await deleteMarked(db, {})).toEqual([])
  })
})
