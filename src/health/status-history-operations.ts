import { type Static, Type } from 'typebox'
import { createTtlCache, type TtlCache } from '../platform/base/cache.ts'
import { FARE_CHANGE_KINDS } from '../platform/base/change-kinds.ts'
import { type FareChangeKind, ROUTE_LISTS } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { operations } from '../platform/http/operation.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { ListName } from '../routes/read/sync-run-operations.ts'
import { ACCEPTED, ARRIVED_AT } from '../routes/runs.ts'
import { HAS_DELAY, MIDPOINT_SECONDS, WAITING_CHANGES } from '../views/detection-delays.ts'
import { scopeOf } from './status-operations.ts'

/** The spans in hours, and how many minutes a step of each has. */
const STEP_MINUTES = { 1: 1, 6: 5, 24: 15 } as const
const HOURS = ['1', '6', '24'] as const
type Hours = (typeof HOURS)[number]

const Counts = Type.Array(Type.Integer({ minimum: 0 }))
const Lengths = Type.Array(orNull(Type.Number()))

const StatusHistoryShape = object(
  {
    since: Instant,
    until: Instant,
    stepMinutes: Type.Integer(),
    lists: Type.Array(object({ list: ListName, ageSeconds: Lengths }), {
      description: 'How old the last accepted list was at the end of each step. Null before it.',
    }),
    routes: object({ added: Counts, removed: Counts }),
    fares: Type.Array(object({ kind: oneOf(FARE_CHANGE_KINDS), counts: Counts }), {
      description:
        'Changes of fares by kind; for a reseller those of its feed. What the first check shows is no change.',
    }),
    delaySeconds: object(
      {
        p50: Lengths,
        p95: Lengths,
        all: orNull(
          object({
            changes: Type.Integer(),
            waiting: Type.Integer({ description: 'How many of them wait for their record.' }),
            p50: Type.Number(),
            p95: Type.Number(),
          }),
        ),
      },
      {
        description:
          'The delay of these changes in each step and in all, as `midpointSeconds` of the status. The changes that wait ' +
          'are in the last step. Null without changes.',
      },
    ),
    beliefs: orNull(
      object({ p50: Lengths, p90: Lengths, staleShare: Lengths }),
      'The ages of the last good checks, in seconds, and the share of stale fares, as `beliefs` of the status had them ' +
        'each minute: the highest of each step, null without one. Null for a reseller: they show what others watch.',
    ),
    checks: orNull(
      object({ made: Counts, unknown: Counts }),
      'Checks, and how many of them had no good answer. Null for a reseller: they show what others watch.',
    ),
  },
  { title: 'StatusHistory' },
)
type StatusHistory = Static<typeof StatusHistoryShape>

interface Steps {
  readonly since: Date
  readonly until: Date
  readonly count: number
  readonly stepMinutes: number
}

/** The last whole minutes, of the shortest span that holds all since the first sync that was not made up, or of the longest. */
async function readSteps(db: Db, hours: Hours | undefined): Promise<Steps> {
  const { until, startedAt } = await selectOne(
    sql<{ until: Date; startedAt: Date | null }>`
      select date_trunc('minute', clock_timestamp()) as until, (select min(started_at) from sync_run
              where started_at >= coalesce((select history_until from demo), '-infinity')) as "startedAt"
    `,
    db,
  )
  const sinceOf = (span: Hours) => new Date(until.getTime() - Number(span) * 3_600_000)
  const holding = HOURS.find((span) => startedAt === null || sinceOf(span) <= startedAt)
  const span = hours ?? holding ?? '24'
  const stepMinutes = STEP_MINUTES[span]
  return { since: sinceOf(span), until, stepMinutes, count: (Number(span) * 60) / stepMinutes }
}

/** The number of the step that an instant lies in, from 0. */
function stepOf(instant: RawBuilder<unknown>, { since, stepMinutes }: Steps): RawBuilder<number> {
  return sql`floor(extract(epoch from ${instant} - ${since}::timestamptz) / (60 * ${stepMinutes}::integer))::integer`
}

type InEachStep = <R extends { readonly step: number | null }, V, N>(
  rows: readonly R[],
  read: (row: R) => V,
  none: N,
) => (V | N)[]

/** Reads what the status was in the last hours, of all or of one reseller. */
export async function readStatusHistory(
  db: Db,
  { hours, resellerId }: { readonly hours?: Hours | undefined; readonly resellerId?: ResellerId },
): Promise<StatusHistory> {
  const steps = await readSteps(db, hours)
  const { since, until, stepMinutes } = steps
  const [lists, routes, fares, delays] = await Promise.all([
    readListAges(db, steps),
    readRouteChanges(db, steps),
    readFareChanges(db, steps, resellerId),
    readDelays(db, steps, resellerId),
  ])
  const each: InEachStep = (rows, read, none) => {
    const values = new Map(rows.map((row) => [row.step, read(row)]))
    return Array.from({ length: steps.count }, (_, step) => values.get(step) ?? none)
  }
  return {
    since,
    until,
    stepMinutes,
    lists: ROUTE_LISTS.map((list) => {
      const own = lists.filter((row) => row.list === list)
      return { list, ageSeconds: each(own, ({ age }) => age, null) }
    }),
    routes: {
      added: each(routes, ({ added }) => added, 0),
      removed: each(routes, ({ removed }) => removed, 0),
    },
    fares: FARE_CHANGE_KINDS.map((kind) => {
      const own = fares.filter((row) => row.kind === kind)
      return { kind, counts: each(own, ({ n }) => n, 0) }
    }),
    delaySeconds: delaysOf(delays, each),
    ...(resellerId === undefined ? await readForOperators(db, steps, each) : HIDDEN),
  }
}

/** They show what others watch. */
const HIDDEN = { beliefs: null, checks: null }

async function readForOperators(
  db: Db,
  steps: Steps,
  each: InEachStep,
): Promise<Pick<StatusHistory, keyof typeof HIDDEN>> {
  const [beliefs, checks] = await Promise.all([readBeliefs(db, steps), readChecks(db, steps)])
  return {
    beliefs: {
      p50: each(beliefs, ({ p50 }) => p50, null),
      p90: each(beliefs, ({ p90 }) => p90, null),
      staleShare: each(beliefs, ({ share }) => share, null),
    },
    checks: {
      made: each(checks, ({ made }) => made, 0),
      unknown: each(checks, ({ unknown }) => unknown, 0),
    },
  }
}

function delaysOf(rows: readonly DelayRow[], each: InEachStep): StatusHistory['delaySeconds'] {
  const all = rows.find(({ step }) => step === null)
  return {
    p50: each(rows, ({ delay: [p50] }) => p50, null),
    p95: each(rows, ({ delay: [, p95] }) => p95, null),
    all:
      all === undefined
        ? null
        : { changes: all.n, waiting: all.waiting, p50: all.delay[0], p95: all.delay[1] },
  }
}

async function readListAges(db: Db, { since, stepMinutes, count }: Steps) {
  const { rows } = await sql<{ list: string; step: number; age: number | null }>`
    select list.name as list, step,
           extract(epoch from ends.at - (select ${ARRIVED_AT} from sync_run r
                                          where r.list = list.name and r.status in ${ACCEPTED} and r.fetched_at <= ends.at
                                          order by r.fetched_at desc limit 1))::float8 as age
      from generate_series(0, ${count}::integer - 1) step
     cross join lateral (select ${since}::timestamptz + make_interval(mins => (step + 1) * ${stepMinutes}::integer) as at) ends
     cross join unnest(${ROUTE_LISTS}::text[]) list (name)
  `.execute(db)
  return rows
}

async function readRouteChanges(db: Db, steps: Steps) {
  const { rows } = await sql<{ step: number; added: number; removed: number }>`
    select ${stepOf(sql`finished_at`, steps)} as step, sum(added) as added, sum(removed) as removed
      from sync_run
     where started_at >= ${steps.since}::timestamptz - interval '1 hour'
       and finished_at >= ${steps.since} and finished_at < ${steps.until} and status in ${ACCEPTED} and not baseline
     group by 1
  `.execute(db)
  return rows
}

async function readBeliefs(db: Db, steps: Steps) {
  const { rows } = await sql<{ step: number; p50: number; p90: number; share: number }>`
    select ${stepOf(sql`minute`, steps)} as step, max(p50_seconds) as p50, max(p90_seconds) as p90,
           max(stale / fares::float8) as share
      from belief_minute
     where minute >= ${steps.since} and minute < ${steps.until}
     group by 1
  `.execute(db)
  return rows
}

async function readChecks(db: Db, steps: Steps) {
  const { rows } = await sql<{ step: number; made: number; unknown: number }>`
    select ${stepOf(sql`minute`, steps)} as step, sum(checks)::bigint as made, sum(unknown)::bigint as unknown
      from check_minute
     where minute >= ${steps.since} and minute < ${steps.until}
     group by 1
  `.execute(db)
  return rows
}

/** The changes of fares in the span, without those before which nothing was known: all, or those in the feed of a reseller. */
function changesIn({ since, until }: Steps, resellerId: ResellerId | undefined) {
  const inSpan = sql`
    c.kind = any(${FARE_CHANGE_KINDS}) and c.recorded_at >= ${since} and c.recorded_at < ${until} and c.last_good_check_at is not null
  `
  if (resellerId === undefined) return sql`select c.* from availability_change c where ${inSpan}`
  // Numbers follow time, and no index has the time: the first number of the span is searched by halves.
  return sql`
    select c.*
      from watch_change w
      join availability_change c on c.id = w.change_id
     where w.reseller_id = ${resellerId} and ${inSpan}
       and w.seq >= (
         with recursive search as (
           select first_seq as low, last_seq + 1 as high from reseller where id = ${resellerId}
           union all
           select case when m.recorded_at < ${since} then m.seq + 1 else low end,
                  case when m.recorded_at < ${since} then high else (low + high) / 2 end
             from search
             left join lateral (
               select seq, recorded_at from watch_change
                where reseller_id = ${resellerId} and seq >= (low + high) / 2 and seq < high
                order by seq
                limit 1) m on true
            where low < high)
         select max(low) from search)
  `
}

async function readFareChanges(db: Db, steps: Steps, resellerId: ResellerId | undefined) {
  const { rows } = await sql<{ step: number; kind: FareChangeKind; n: number }>`
    select ${stepOf(sql`recorded_at`, steps)} as step, kind, count(*) as n
      from (${changesIn(steps, resellerId)}) c
     group by 1, 2
  `.execute(db)
  return rows
}

interface DelayRow {
  /** Null: all steps. */
  readonly step: number | null
  readonly n: number
  readonly waiting: number
  readonly delay: readonly [p50: number, p95: number]
}

/** The changes that wait: all, or those of fares that a reseller watches. */
function waitingFor(resellerId: ResellerId | undefined) {
  const isWatched = sql`
    exists (select from watch where tracked_fare_id = w.tracked_fare_id and reseller_id = ${resellerId ?? null}
               and paused_at is null and ended_at is null)
  `
  return sql`select w.* from (${WAITING_CHANGES}) w where ${resellerId === undefined ? sql`true` : isWatched}`
}

async function readDelays(db: Db, steps: Steps, resellerId: ResellerId | undefined) {
  const { rows } = await sql<DelayRow>`
    select step, count(*) as n, count(*) filter (where waits) as waiting,
           percentile_disc(array[0.5, 0.95]) within group (order by midpoint) as delay
      from (select ${stepOf(sql`recorded_at`, steps)} as step, ${MIDPOINT_SECONDS} as midpoint, false as waits
              from (${changesIn(steps, resellerId)}) c
             where ${HAS_DELAY}
             union all
            select ${steps.count - 1}::integer, ${MIDPOINT_SECONDS}, true from (${waitingFor(resellerId)}) w) c
     group by grouping sets ((step), ())
    having count(*) > 0
  `.execute(db)
  return rows
}

export type StatusHistories = TtlCache<StatusHistory>

/** The answers of a process: callers of the same seconds share one. */
export function createStatusHistories(nowMs: () => number): StatusHistories {
  return createTtlCache({ ttlMs: 10_000, nowMs, maxKeys: 200 })
}

const { shared } = operations<{ readonly db: Db; readonly statusHistories: StatusHistories }>()

const showHistory = shared({
  id: 'readStatusHistory',
  method: 'GET',
  path: '/api/v1/status/history',
  tag: 'Freshness',
  summary: 'Read how fresh the data was in the last hours, and what changed, in steps',
  scope: 'read',
  query: object({
    hours: Type.Optional(
      oneOf(HOURS, {
        description: 'How many. Unset: as many as hold everything since the first sync, or 24.',
      }),
    ),
  }),
  answer: {
    about: 'Equal steps from `since` to `until`, the oldest first.',
    schema: StatusHistoryShape,
  },
  handler: ({ db, statusHistories }, { caller, query: { hours } }) => {
    const scope = scopeOf(caller)
    const key = `${hours} ${scope.resellerId}`
    return statusHistories.get(key, () => readStatusHistory(db, { hours, ...scope }))
  },
})

/** The status of the last hours. */
export const STATUS_HISTORY_OPERATIONS = [showHistory]
