import { expect } from 'vitest'
import { createSlotQueue } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { dispatchChecks } from '../../src/schedule/claim.ts'
import { addPlaced, type CompletedCheck, place } from '../../src/schedule/due.ts'
import { bringNeighbours, changeQueues, expedite, hold } from '../../src/schedule/queues.ts'
import { deleteWatches, pauseWatches, resumeWatches } from '../../src/watches/change-watches.ts'
import { openAnother } from '../platform/db/empty-database.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { cells, importRows, newReseller } from '../watches/watch-fixtures.ts'
import { idleQueue, pass, trackFares, UNCHANGED } from './schedule-fixtures.ts'

const RULES = { requestsPerSecond: 50, minRecheckSeconds: 1 }
const ROUNDS = 12
const NEXT = ['normal', 'normal', 'normal', 'retry', { pauseSeconds: 600 }] as const

function open(url: string): ReturnType<typeof openDatabase> {
  return openDatabase({ url, applicationName: 'test', log: silentLog, maxConnections: 2 })
}

/** Claims what is due, and records it as a job does: locks, then what follows. Returns the claimed fares. */
async function claimAndRecord(db: Db, round: number): Promise<number[]> {
  const claimed = await dispatchChecks({ ...RULES, db, queue: idleQueue })
  const fareIds = claimed.map(({ fareId }) => fareId).sort((a, b) => a - b)
  const checks = fareIds.map((fareId, i): CompletedCheck => {
    const kind = NEXT[(fareId + round) % NEXT.length] ?? 'normal'
    const next = i % 7 === 0 ? { confirmAt: new Date() } : kind
    const rating =
      next === 'normal'
        ? { ...UNCHANGED, changed: fareId % 3 === 0, value: 1, route: 'A-B' }
        : undefined
    return { fareId, askedAt: new Date(), next, rating }
  })
  await inTransaction(db, async (tx) => {
    await hold(tx, fareIds)
    await addPlaced(tx, await place(tx, checks, RULES))
  })
  return fareIds
}

async function changeWatches(db: Db, resellerId: number, round: number): Promise<void> {
  const rows = Array.from({ length: 40 }, (_, i) =>
    cells({
      reference: `R${i}`,
      flight_id: `F${(i * (round + 1)) % 60}`,
      priority: i % 2 === 0 ? 'urgent' : 'low',
      min_interval_seconds: i % 5 === 0 ? '3' : '',
    }),
  )
  await importRows(db, resellerId, rows)
  const list = { resellerId, list: 'summer' }
  const references = Array.from({ length: 10 }, (_, i) => `R${(i + round) % 40}`)
  if (round % 3 === 0) await pauseWatches(db, { ...list, references })
  if (round % 3 === 1) await resumeWatches(db, list)
  if (round % 3 === 2) await deleteWatches(db, { ...list, references })
}

it('claims, records, imports, pauses, neighbours and questions at the same time lose no fare and claim none twice, and the sums of the queues stay right', {
  timeout: 60_000,
}, async ({ db, databaseUrl }) => {
  const resellers = [
    await newReseller(db, 'a'),
    await newReseller(db, 'b'),
    await newReseller(db, 'c'),
  ]
  const pools = Array.from({ length: 8 }, () => open(databaseUrl))
  const [one, two, three, four, five, six, seven, eight] = pools.map((pool) => pool.db) as [
    Db,
    Db,
    Db,
    Db,
    Db,
    Db,
    Db,
    Db,
  ]
  const takeSlot = createSlotQueue({
    db: eight,
    clock: systemClock,
    requestsPerSecond: 50,
    timeoutMs: 10,
  })
  const together: number[][][] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const [first, second] = await Promise.all([
      claimAndRecord(one, round),
      claimAndRecord(two, round + 1),
      ...resellers.map((id, i) => changeWatches([three, four, five][i] ?? db, id, round + i)),
      inTransaction(six, async (tx) => changeQueues(tx, await bringNeighbours(tx, ['A-B']))),
      inTransaction(seven, (tx) => expedite(tx, [1, 2, 3, 4, 5])),
      takeSlot(resellers[0] ?? 0, AbortSignal.timeout(5_000)).catch(() => undefined),
    ])
    together.push([first, second])
    await pass(db, 3)
  }
  await Promise.all(pools.map((pool) => pool.close()))

  for (const [first = [], second = []] of together) {
    expect(first.filter((fare) => second.includes(fare))).toEqual([])
  }
  expect(together.flat(2).length).toBeGreaterThan(100)
  const { rows } = await sql`
    select f.id, f.watchers
      from tracked_fare f
      full join fare_schedule q on q.tracked_fare_id = f.id
     where (f.watchers > 0) is distinct from (q.tracked_fare_id is not null)
  `.execute(db)
  expect(rows).toEqual([])
  const { rows: turns } = await sql`
    select w.*, t.*
      from (select distinct tracked_fare_id, reseller_id from watch where paused_at is null and ended_at is null) w
      full join turn t using (tracked_fare_id, reseller_id)
     where w.reseller_id is null or t.reseller_id is null or t.vdue in ('nan', 'infinity')
  `.execute(db)
  expect(turns).toEqual([])
  const { rows: sums } = await sql`
    select q.reseller_id, q.fares, q.scores, s.fares as counted, s.scores as added
      from reseller_queue q
      join (select reseller_id, count(*) as fares, sum(score) as scores from turn group by reseller_id) s using (reseller_id)
     where q.fares <> s.fares or abs(q.scores - s.scores) > 1e-6 or q.v in ('nan', 'infinity')
  `.execute(db)
  expect(sums).toEqual([])
})

const CLAIMS = 40

it('a fare that a check on demand was recorded of while fares were claimed is not claimed', {
  timeout: 60_000,
}, async ({ db, databaseUrl }) => {
  const { db: another } = openAnother(databaseUrl)
  const fares = await trackFares(
    db,
    Array.from({ length: 400 }, (_, i) => {
      return { resellers: [1], lane: i % 2 === 0 ? ('confirmation' as const) : null }
    }),
  )
  const rules = { requestsPerSecond: 100, minRecheckSeconds: 60 }
  const record = (fareId: number) =>
    inTransaction(another, async (tx) => {
      await hold(tx, [fareId])
      await addPlaced(tx, await place(tx, [{ fareId, askedAt: new Date(), next: 'normal' }], rules))
    })

  for (let round = 0; round < CLAIMS; round += 1) {
    await sql`
      update fare_schedule
         set not_before = now(), leased_until = '-infinity', claim_id = null,
             lane = case when tracked_fare_id % 2 = 0 then 'confirmation' end,
             lane_due_at = case when tracked_fare_id % 2 = 0 then now() end
    `.execute(db)
    await pass(db, 10)
    const claiming = dispatchChecks({ ...rules, db, queue: idleQueue })
    const over = new AbortController()
    const recordAll = async () => {
      for (const fare of fares) if (!over.signal.aborted) await record(fare)
    }
    const recording = recordAll()
    const claimed = await claiming
    over.abort()
    await recording
    const { rows } = await sql<{ id: number }>`
      select tracked_fare_id as id from fare_schedule where claim_id is not null and not_before > now()
    `.execute(db)
    expect(rows).toEqual([])
    expect(claimed.filter(({ lane }) => lane === null)).toEqual([])
  }
})
