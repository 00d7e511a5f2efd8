import type { Scrub } from '../../platform/base/secrets.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { openScratchTransaction } from '../../platform/db/transaction.ts'
import type { Place } from '../../upstream/route-list.ts'
import { RunNotFoundError } from '../errors.ts'
import { listOfRun, readSlices, stageSnapshot } from '../list.ts'
import { findFinishedRun } from '../runs.ts'

const PAGE_ROWS = 5_000

/** One difference of two lists: a route that only the second has, or only the first, or a place that changed. */
export type ListDifference =
  | { readonly kind: 'added' | 'removed'; readonly departure: Place; readonly destination: Place }
  | { readonly kind: 'place_changed'; readonly before: Place; readonly after: Place }

/**
 * Streams the differences between the lists of two runs: changed places, then removed routes, then added ones, each in
 * the order of their ids, a page at a time. One list at a time is in memory. The rest is in temporary tables, which end
 * with the stream.
 *
 * Throws RunNotFoundError, SnapshotNotKeptError, SnapshotDamagedError.
 */
export async function* diffSnapshots(
  { db, scrub }: { readonly db: Db; readonly scrub: Scrub },
  [first, second]: readonly [number, number],
): AsyncGenerator<ListDifference[]> {
  const tx = await openScratchTransaction(db)
  try {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    // The reader of a pager may take any time between two pages.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
    await stageRun(tx, { runId: first, prefix: 'first', scrub })
    await stageRun(tx, { runId: second, prefix: 'second', scrub })
    await diffStaged(tx)
    for (let from = 0; ; from += PAGE_ROWS) {
      const page = await readPage(tx, from)
      if (page.length > 0) yield page
      if (page.length < PAGE_ROWS) return
    }
  } finally {
    await tx.end()
  }
}

interface ToStage {
  readonly runId: number
  readonly prefix: 'first' | 'second'
  readonly scrub: Scrub
}

async function stageRun(tx: Tx, { runId, prefix, scrub }: ToStage): Promise<void> {
  const run = await findFinishedRun(tx, runId)
  if (run === undefined) throw new RunNotFoundError(runId)
  const slices = readSlices(tx, { list: run.list, fetched: listOfRun(run) })
  await stageSnapshot(tx, scrub, slices, prefix)
  // If a list gives a place several times with different attributes, the smallest ones are compared.
  await sql`
    create temp table ${sql.table(`${prefix}_attributes`)} on commit drop as
    select distinct on (place_id)
           place_id, iata, city, country,
           jsonb_build_object('id', place_id, 'iata', iata, 'city', city, 'country', country) as shown
      from ${sql.table(`${prefix}_place`)}
     order by place_id, iata collate "C", city collate "C", country collate "C"
  `.execute(tx)
}

/** Numbers the differences, so that pages need no second sort. */
async function diffStaged(tx: Tx): Promise<void> {
  await sql`
    create temp table snapshot_difference on commit drop as
    select row_number() over (order by d.rank, d.one, d.other) - 1 as n, d.*
      from (select 0 as rank, a.place_id as one, null as other
              from first_attributes a
              join second_attributes b using (place_id)
             where (a.iata, a.city, a.country) <> (b.iata, b.city, b.country)
            union all
            select 1, f.departure_id, f.destination_id
              from first_route f
             where not exists (select from second_route s
                                where (s.departure_id, s.destination_id) = (f.departure_id, f.destination_id))
            union all
            select 2, s.departure_id, s.destination_id
              from second_route s
             where not exists (select from first_route f
                                where (f.departure_id, f.destination_id) = (s.departure_id, s.destination_id))) d
  `.execute(tx)
  await sql`create index on snapshot_difference (n)`.execute(tx)
  await sql`create index on first_attributes (place_id)`.execute(tx)
  await sql`create index on second_attributes (place_id)`.execute(tx)
  await sql`analyze snapshot_difference, first_attributes, second_attributes`.execute(tx)
}

async function readPage(tx: Tx, from: number): Promise<ListDifference[]> {
  const { rows } = await sql<{ difference: ListDifference }>`
    select case d.rank
             when 0 then jsonb_build_object('kind', 'place_changed', 'before', a.shown, 'after', b.shown)
             when 1 then jsonb_build_object('kind', 'removed', 'departure', a.shown, 'destination', a2.shown)
             else jsonb_build_object('kind', 'added', 'departure', b.shown, 'destination', b2.shown)
           end as difference
      from snapshot_difference d
      left join first_attributes a on a.place_id = d.one
      left join first_attributes a2 on a2.place_id = d.other
      left join second_attributes b on b.place_id = d.one
      left join second_attributes b2 on b2.place_id = d.other
     where d.n >= ${from} and d.n < ${from + PAGE_ROWS}
     order by d.n
  `.execute(tx)
  return rows.map(({ difference }) => difference)
}
