import { type Static, Type } from 'typebox'
import { BUDGET_LANES } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { databaseNow } from '../platform/db/transaction.ts'
import { operations } from '../platform/http/operation.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'

interface CallRow {
  readonly by: 'lane' | 'reseller' | 'priority'
  /** Empty for calls without one. */
  readonly name: string
  readonly minute: number
  readonly calls: number
}

const SERIES_MINUTES = 60
const SHOWN_RESELLERS = 20

const MINUTE_MS = 60_000

/** Reads the calls of the last whole hour. Those of the last ten seconds may not be counted yet. */
export async function readCallSeries(db: Db): Promise<CallSeries> {
  const now = await databaseNow(db)
  const lastMs = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS
  const since = new Date(lastMs - SERIES_MINUTES * MINUTE_MS)
  const rows = await readRows(db, since)
  const seriesOf = (by: CallRow['by']) =>
    [
      ...Map.groupBy(
        rows.filter((row) => row.by === by),
        ({ name }) => name,
      ),
    ].map(([name, own]) => ({ name, calls: byMinute(own) }))
  const lanes = new Map(seriesOf('lane').map(({ name, calls }) => [name, calls]))
  return {
    since,
    byLane: BUDGET_LANES.map((lane) => ({ lane, calls: lanes.get(lane) ?? byMinute([]) })),
    byReseller: seriesOf('reseller').map(({ name, calls }) => ({ reseller: name || null, calls })),
    byPriority: seriesOf('priority').map(({ name, calls }) => ({ priority: name || null, calls })),
  }
}

/** Of the resellers only those with the most calls, in the order of their calls. */
async function readRows(db: Db, since: Date): Promise<CallRow[]> {
  const { rows } = await sql<CallRow>`
    with counted as materialized (
      select (extract(epoch from m.minute - ${since}::timestamptz) / 60)::integer as minute,
             m.lane, m.priority, coalesce(r.name, '') as reseller, m.calls
        from call_minute m
        left join reseller r on r.id = nullif(m.reseller_id, 0)
       where m.minute >= ${since} and m.minute < ${since}::timestamptz + make_interval(mins => ${SERIES_MINUTES}::integer)
    ), most as (
      select reseller from counted group by reseller order by sum(calls) desc, reseller limit ${SHOWN_RESELLERS}
    ), named as (
      select 'lane' as by, lane as name, minute, calls from counted
      union all
      select 'priority', priority, minute, calls from counted
      union all
      select 'reseller', reseller, minute, calls from counted where reseller in (select reseller from most)
    )
    select by, name, minute, sum(calls)::float8 as calls
      from named
     group by by, name, minute
     order by sum(sum(calls)) over (partition by by, name) desc, name, minute
  `.execute(db)
  return rows
}

function byMinute(rows: readonly CallRow[]): number[] {
  const calls = new Array<number>(SERIES_MINUTES).fill(0)
  for (const row of rows) calls[row.minute] = Math.round(row.calls * 100) / 100
  return calls
}

const { operator } = operations<{ readonly db: Db }>()

const Calls = Type.Array(Type.Number(), {
  description: `Calls in each of ${SERIES_MINUTES} minutes, the oldest first. A call is counted in equal parts for all resellers of its fare, also for those that did not pay for it.`,
})

/** The calls of each minute of the last whole hour, the oldest first. */
const CallSeriesShape = object(
  {
    since: Instant,
    byLane: Type.Array(
      object({ lane: oneOf(BUDGET_LANES, { title: 'BudgetLane' }), calls: Calls }),
    ),
    byReseller: Type.Array(object({ reseller: orNull(Type.String()), calls: Calls }), {
      description: `The ${SHOWN_RESELLERS} with the most calls. Null: lists, questions on demand, and fares without a watch.`,
    }),
    byPriority: Type.Array(object({ priority: orNull(Type.String()), calls: Calls }), {
      description: 'By the priority of the watches. Null as above.',
    }),
  },
  { title: 'BudgetCalls' },
)
type CallSeries = Static<typeof CallSeriesShape>

const readCalls = operator({
  id: 'readBudgetCalls',
  method: 'GET',
  path: '/api/v1/budget/calls',
  tag: 'Operators',
  summary: 'Read where the calls of the last hour went, by minute',
  description:
    'Slots of the budget that were taken, by lane, by reseller and by priority. The counts of a process that was killed ' +
    'lack up to ten seconds.',
  scope: 'operate',
  answer: {
    about: 'The calls.',
    schema: CallSeriesShape,
  },
  handler: ({ db }) => readCallSeries(db),
})

/** What the budget is spent on, for operators. */
export const BUDGET_OPERATIONS = [readCalls]
