import { type Db, type RawBuilder, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import type { Interval, ModelChange } from './sync-model-history.ts'

/** Live routes and their availability. */
type Moment = Map<string, boolean | null>

/** An accepted run. The model names its valid time, and in changes the arrival of its list, by the run. */
interface Accepted {
  readonly run: number
  readonly list: string
  readonly baseline: boolean
  readonly at: Date
  readonly arrivedAt: Date
}

/** The content of the database, in the terms of the model. */
export interface Stored {
  readonly statuses: readonly { run: number; status: string }[]
  readonly routes: readonly Interval<unknown>[]
  readonly availability: readonly Interval<unknown>[]
  readonly places: readonly Interval<unknown>[]
  /** In the order of `seq`. */
  readonly changes: readonly ModelChange[]
  readonly seqs: readonly number[]
  readonly head: number
  readonly accepted: readonly Accepted[]
  /** routes_as_of at the valid time of each accepted run. */
  readonly moments: Map<number, Moment>
  readonly current: Moment
}

export async function readStored(db: Db): Promise<Stored> {
  const accepted = await readAccepted(db)
  const byTime = new Map(accepted.map(({ run, at }) => [at.getTime(), run]))
  const runAt = (at: Date) => byTime.get(at.getTime()) ?? Number.NaN
  const byArrival = new Map(accepted.map((of) => [arrivalOf(of.list, of.arrivedAt), of.run]))
  const { rows: statuses } = await sql<{ run: number; status: string }>`
    select sync_run_id as run, status from farewatch.sync_runs order by 1
  `.execute(db)
  const { head } = await selectOne(
    sql<{ head: number }>`select last_seq as head from feed_head where feed = 'route'`,
    db,
  )
  const rows = await readChanges(db)
  const pair = sql`departure_id || '-' || destination_id`
  return {
    statuses,
    routes: await readIntervals(db, sql`${pair}, null from farewatch.route_history`, runAt),
    availability: await readIntervals(
      db,
      sql`${pair}, available from farewatch.route_availability_history`,
      runAt,
    ),
    places: await readIntervals(
      db,
      sql`place_id, json_build_object('iata', iata, 'city', city, 'country', country)
            from farewatch.place_history`,
      runAt,
    ),
    changes: rows.map(({ seq: _, lastSeen, firstMissed, ...change }) => {
      const list = change.kind.endsWith('_availability') ? 'with-availability' : 'routes'
      const runOf = (at: Date) => byArrival.get(arrivalOf(list, at)) ?? Number.NaN
      return { ...change, lastSeen: runOf(lastSeen), firstMissed: runOf(firstMissed) }
    }),
    seqs: rows.map(({ seq }) => seq),
    head,
    accepted,
    moments: await readMoments(db, accepted),
    current: await readMoment(db, sql`farewatch.routes_current`),
  }
}

/** The name of the list is part of the key, because two lists may arrive at the same instant. */
function arrivalOf(list: string, at: Date): string {
  return `${list} ${at.getTime()}`
}

/** In the order of valid times. */
async function readAccepted(db: Db): Promise<Accepted[]> {
  const { rows } = await sql<Accepted>`
    select sync_run_id as run, list, baseline, valid_at as at, arrived_at as "arrivedAt"
      from farewatch.sync_runs
     where status in ('applied', 'unchanged', 'approved')
     order by valid_at
  `.execute(db)
  return rows
}

type ChangeRow = Omit<ModelChange, 'lastSeen' | 'firstMissed'> & {
  readonly seq: number
  readonly lastSeen: Date
  readonly firstMissed: Date
}

async function readChanges(db: Db): Promise<ChangeRow[]> {
  const { rows } = await sql<ChangeRow>`
    select seq, kind, coalesce(place_id, departure_id || '-' || destination_id) as of, attributes_before as before, attributes as after,
           last_seen_at as "lastSeen", first_missed_at as "firstMissed", sync_run_id as run
      from farewatch.route_changes
     order by seq
  `.execute(db)
  return rows
}

async function readIntervals(
  db: Db,
  columnsAndView: RawBuilder<unknown>,
  runAt: (at: Date) => number,
): Promise<Interval<unknown>[]> {
  const { rows } = await sql<{ of: string; what: unknown; from: Date; to: Date | null }>`
    select h.* from (select valid_from as from, valid_to as to, ${columnsAndView}) h ("from", "to", of, what)
  `.execute(db)
  return rows.map(({ of, what, from, to }) => {
    return { of, what, from: runAt(from), to: to === null ? null : runAt(to) }
  })
}

async function readMoments(db: Db, accepted: readonly Accepted[]): Promise<Map<number, Moment>> {
  const moments = new Map<number, Moment>()
  for (const { run, at } of accepted) {
    moments.set(run, await readMoment(db, sql`farewatch.routes_as_of(${at})`))
  }
  return moments
}

async function readMoment(db: Db, routes: RawBuilder<unknown>): Promise<Moment> {
  const { rows } = await sql<{ of: string; available: boolean | null }>`
    select departure_id || '-' || destination_id as of, available from ${routes}
  `.execute(db)
  return new Map(rows.map(({ of, available }) => [of, available]))
}

/**
 * The live routes and their availability, replayed from the baselines and the changes. A route that is unavailable from
 * its start records no change, so unknown counts as unavailable here.
 */
export function replayed({ accepted, moments, changes }: Stored): Map<string, boolean> {
  const live = new Map<string, boolean>()
  for (const { run, baseline } of accepted) {
    for (const [of, available] of baseline ? (moments.get(run) ?? []) : []) {
      live.set(of, available ?? false)
    }
    for (const change of changes) if (change.run === run) replay(live, change)
  }
  return live
}

function replay(live: Map<string, boolean>, { kind, of }: ModelChange): void {
  if (kind === 'route_added') live.set(of, false)
  if (kind === 'route_removed') live.delete(of)
  if (kind === 'route_gained_availability') live.set(of, true)
  if (kind === 'route_lost_availability') live.set(of, false)
}
