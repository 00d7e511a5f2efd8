import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { sql, type Tx } from '../../platform/db/database.ts'
import { HISTORY_FLOOR } from '../../platform/db/history-floor.ts'
import { type FetchedList, isReadable, listOfRun, readSlices } from '../list.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs.ts'

export interface ListDeps {
  readonly scrub: Scrub
  /** The setting, for runs that did not record theirs. */
  readonly confirmations: number
}

/**
 * Numbers the accepted runs of each list from 1, from the oldest one whose list is kept, and not from before the
 * floor of the histories. A run that agreeing lists released counts as several. `known`: the list of the run could
 * be read. A run of `with-availability` that may be approved together with the routes before it is `joint`.
 */
export async function numberRuns(tx: Tx, confirmations: number): Promise<void> {
  await sql`
    create temp table replay_run on commit drop as
    select r.list, row_number() over (partition by r.list order by r.fetched_at)::integer as position, r.id, r.fetched_at as at,
           r.arrival as arrived_at, r.content_hash, r.bytes, false as known,
           coalesce(r.confirmations, case r.status when 'approved' then 1 else ${confirmations}::integer end) as confirmations,
           case when r.pending_places is null then 1 else coalesce(r.confirmations, 1) end as place_confirmations,
           coalesce(r.agreed_lists, 1) as lists, c.content_hash as compared_hash, c.bytes as compared_bytes,
           r.status = 'approved' and r.before_list <> r.list and r.before_status = 'approved' as joint
      from (select r.*, date_trunc('milliseconds', ${ARRIVED_AT}) as arrival, lag(list) over w as before_list, lag(status) over w as before_status
              from sync_run r where status in ${ACCEPTED} window w as (order by fetched_at)) r
      left join sync_run c on c.id = r.agreed_with and c.content_hash <> r.content_hash
     where r.fetched_at >= coalesce(${HISTORY_FLOOR}, '-infinity')
       and r.fetched_at >= (select min(o.fetched_at)
                              from sync_run o
                              join snapshot s on s.content_hash = o.content_hash
                             where o.list = r.list and o.status in ${ACCEPTED})
  `.execute(tx)
  await sql`create unique index on replay_run (list, position)`.execute(tx)
  await sql`create unique index on replay_run (list, at)`.execute(tx)
  await sql`create index on replay_run (list, arrived_at)`.execute(tx)
}

interface NumberedRun {
  readonly position: number
  readonly runId: number
  readonly contentHash: string
  readonly bytes: number
  readonly comparedHash: string | null
  readonly comparedBytes: number
}

/**
 * Reads the kept lists one after the other into `replay_listed`: the spans of positions in which lists held a pair
 * (`routes`, `with-availability`), gave a place some attributes (`place`), and gave them as its smallest ones
 * (`smallest`). `replay_single` has the pairs and attributes that count for one list although their run accepted
 * several.
 */
export async function readLists(
  tx: Tx,
  scrub: Scrub,
  { signal, onRun }: { readonly signal: AbortSignal; readonly onRun: OnRun },
): Promise<void> {
  for (const statement of [
    `create temp table replay_listed (list text, kind text, a text, b text, first integer, until integer) on commit drop`,
    `create temp table replay_single (kind text, a text, b text, position integer) on commit drop`,
    `create temp table replay_staged (kind text, a text, b text) on commit drop`,
    `create temp table replay_compared (kind text, a text, b text) on commit drop`,
  ]) {
    await sql.raw(statement).execute(tx)
  }
  for (const list of ['routes', 'with-availability'] as const) {
    let staged: string | undefined
    for (const run of await findNumbered(tx, list)) {
      signal.throwIfAborted()
      const isKnown =
        (staged === run.contentHash && run.comparedHash === null) ||
        (await readList(tx, scrub, { list, run }))
      if (isKnown) {
        staged = run.contentHash
        await sql`
          update replay_run set known = true where list = ${list} and position = ${run.position}
        `.execute(tx)
      }
      onRun({ list, runs: run.position })
    }
  }
  await sql`update replay_listed set until = ${end(sql`replay_listed.list`)} where until is null`.execute(
    tx,
  )
  await sql`create index on replay_listed (kind, a, b)`.execute(tx)
  await sql`analyze replay_listed, replay_run`.execute(tx)
}

export type OnRun = (progress: { readonly list: RouteListName; readonly runs: number }) => void

/** One more than the position of the last run of a list. */
export function end(list: ReturnType<typeof sql>) {
  return sql`coalesce((select max(e.position) + 1 from replay_run e where e.list = ${list}), 1)`
}

async function findNumbered(tx: Tx, list: RouteListName): Promise<NumberedRun[]> {
  const { rows } = await sql<NumberedRun>`
    select position, id as "runId", content_hash as "contentHash", bytes, compared_hash as "comparedHash",
           compared_bytes as "comparedBytes"
      from replay_run
     where list = ${list}
     order by position
  `.execute(tx)
  return rows
}

/** Returns false if the list, or the one that it was compared with, cannot be read. */
async function readList(
  tx: Tx,
  scrub: Scrub,
  { list, run }: { readonly list: RouteListName; readonly run: NumberedRun },
): Promise<boolean> {
  const { comparedHash, comparedBytes } = run
  const compared = { ...run, contentHash: comparedHash, bytes: comparedBytes }
  const fetched = [listOfRun(run), ...(comparedHash === null ? [] : [listOfRun(compared)])]
  for (const one of fetched) if (!(await isReadable(tx, one))) return false
  for (const [at, one] of fetched.entries()) {
    const table = sql.table(at === 0 ? 'replay_staged' : 'replay_compared')
    await stage(tx, { table, list, fetched: one, scrub })
  }
  await recordSpans(tx, list, run.position)
  if (comparedHash !== null) await recordSingle(tx, list, run.position)
  return true
}

interface Staging {
  readonly table: ReturnType<typeof sql.table>
  readonly list: RouteListName
  readonly fetched: FetchedList
  readonly scrub: Scrub
}

async function stage(tx: Tx, { table, list, fetched, scrub }: Staging): Promise<void> {
  await sql`truncate ${table}`.execute(tx)
  const places = new Map<string, readonly string[]>()
  for await (const { routes } of readSlices(tx, { list, fetched })) {
    for (const { id, iata, city, country } of routes.flatMap((r) => [r.departure, r.destination])) {
      const key = JSON.stringify([id, iata, city, country])
      if (!places.has(key)) places.set(key, [id, scrub(iata), scrub(city), scrub(country)])
    }
    await sql`
      insert into ${table}
      select ${list}, * from unnest(${routes.map((r) => r.departure.id)}::text[], ${routes.map((r) => r.destination.id)}::text[])
    `.execute(tx)
  }
  if (list === 'routes') {
    await sql`
      insert into ${table}
      select 'place', p ->> 0, jsonb_build_array(p ->> 1, p ->> 2, p ->> 3)::text
        from jsonb_array_elements(${JSON.stringify([...places.values()])}::jsonb) p
    `.execute(tx)
    await sql`
      insert into ${table}
      select distinct on (a) 'smallest', a, b from ${table} where kind = 'place'
       order by a, (b::jsonb ->> 0) collate "C", (b::jsonb ->> 1) collate "C", (b::jsonb ->> 2) collate "C"
    `.execute(tx)
  }
  await sql`analyze ${table}`.execute(tx)
}

async function recordSpans(tx: Tx, list: RouteListName, position: number): Promise<void> {
  await sql`
    update replay_listed l
       set until = ${position}
     where l.list = ${list} and l.until is null
       and not exists (select from replay_staged s where (s.kind, s.a, s.b) = (l.kind, l.a, l.b))
  `.execute(tx)
  await sql`
    insert into replay_listed
    select distinct ${list}, s.kind, s.a, s.b, ${position}::integer, null::integer
      from replay_staged s
     where not exists (select from replay_listed l
                        where l.list = ${list} and l.until is null and (l.kind, l.a, l.b) = (s.kind, s.a, s.b))
  `.execute(tx)
  if (position === 1) await sql`analyze replay_listed`.execute(tx)
}

async function recordSingle(tx: Tx, list: RouteListName, position: number): Promise<void> {
  const lacks = (table: string) => sql`
    not exists (select from ${sql.table(table)} o where (o.a, o.b) = (s.a, s.b) and o.kind in (${list}, 'place'))`
  await sql`
    insert into replay_single
    select distinct s.kind, s.a, s.b, ${position}::integer
      from replay_compared s where s.kind = ${list} and ${lacks('replay_staged')}
    union
    select 'place', s.a, s.b, ${position}
      from replay_staged s where s.kind = 'smallest' and ${lacks('replay_compared')}
  `.execute(tx)
}
