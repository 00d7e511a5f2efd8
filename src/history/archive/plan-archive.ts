import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { assertDate, floorOf, type Need, needsOf } from './decide-floors.ts'
import {
  readAvailabilityFacts,
  readDateFacts,
  readFirstCited,
  readResellerFacts,
  readRouteFacts,
} from './read-floor-facts.ts'

/** The first instant and the first numbers that stay. */
export interface Floors {
  readonly before: Date
  readonly routeChanges: number
  readonly availabilityChanges: number
  readonly watchChanges: readonly { readonly resellerId: number; readonly first: number }[]
}

export interface ArchivePlan {
  readonly floors: Floors
  readonly needs: readonly Need[]
}

/** Whole feeds are read. The pool's limit is meant for queries. */
const PLAN_TIMEOUT = '15min'

/** Throws ArchiveError if nothing may be archived before the date. */
export async function assertArchivable(db: Db, before: Date): Promise<void> {
  assertDate(before, await readDateFacts(db))
}

export async function planArchive(db: Db, before: Date): Promise<ArchivePlan> {
  return inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = ${sql.lit(PLAN_TIMEOUT)}`.execute(tx)
    const resellers = await readResellerFacts(tx, before)
    const needs = resellers.flatMap(needsOf)
    const watchChanges = resellers.map((facts) => ({
      resellerId: facts.id,
      first: floorOf(
        facts,
        needsOf(facts).map(({ seq }) => seq),
      ),
    }))
    const cited = await readFirstCited(tx, watchChanges)
    const availability = await readAvailabilityFacts(tx, before)
    const floors = {
      before,
      routeChanges: floorOf(await readRouteFacts(tx, before), []),
      availabilityChanges: floorOf(availability, cited === null ? [] : [cited]),
      watchChanges,
    }
    return { floors, needs }
  })
}

/** Moves the floors, in one transaction: from its commit on, readers are refused what will be deleted. */
export async function moveFloors(tx: Tx, id: string, floors: Floors): Promise<void> {
  await sql`
    update feed_head h
       set first_seq = f.first
      from (values ('route', ${floors.routeChanges}::bigint), ('availability', ${floors.availabilityChanges}::bigint)) f (feed, first)
     where h.feed = f.feed and f.first > h.first_seq
  `.execute(tx)
  await sql`
    update reseller r
       set first_seq = f.first
      from jsonb_to_recordset(${JSON.stringify(floors.watchChanges)}::jsonb) as f ("resellerId" bigint, first bigint)
     where r.id = f."resellerId" and f.first > r.first_seq
  `.execute(tx)
  await sql`update archive set applied_at = clock_timestamp() where id = ${id}`.execute(tx)
}
