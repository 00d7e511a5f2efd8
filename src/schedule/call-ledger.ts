import type { Clock } from '../platform/base/clock.ts'
import type { BUDGET_LANES, WatchPriority } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'

export type BudgetLane = (typeof BUDGET_LANES)[number]

/** Counts what this process takes from the budget. */
export interface CallLedger {
  /** Counts one call in a lane, for a fare if it is known. */
  readonly count: (lane: BudgetLane, fareId?: number) => void
  /**
   * Adds what was counted since the last time to the database. After a failure it is counted again by the next
   * call.
   */
  readonly flush: (db: Db) => Promise<void>
}

interface Counted {
  readonly minute: string
  readonly lane: BudgetLane
  readonly fareId: number | null
  calls: number
}

const MINUTE_MS = 60_000
/** While the database is down for long, the oldest counts are dropped. */
const MOST_ENTRIES = 200_000

interface PriorityCalls {
  /** Empty for calls that no watch explains. */
  readonly priority: WatchPriority | ''
  readonly calls: number
}

/** Called with what one write added. */
type OnCalls = (counted: PriorityCalls) => void

/**
 * One write every few seconds, because one for each batch would cost more than it is worth. A process that is
 * killed loses the counts since the last one: they are for people who look at the page, and decide nothing.
 */
export function createCallLedger(clock: Clock, onCalls: OnCalls = () => undefined): CallLedger {
  let counted = new Map<string, Counted>()
  const add = (given: Counted) => {
    const key = `${given.minute} ${given.lane} ${given.fareId}`
    const known = counted.get(key)
    if (known !== undefined) known.calls += given.calls
    else counted.set(key, given)
    const oldest = counted.keys().next()
    if (counted.size > MOST_ENTRIES && oldest.done !== true) counted.delete(oldest.value)
  }
  return {
    count: (lane, fareId) => {
      const atMs = Math.floor(clock.now().getTime() / MINUTE_MS) * MINUTE_MS
      add({ minute: new Date(atMs).toISOString(), lane, fareId: fareId ?? null, calls: 1 })
    },
    flush: async (db) => {
      if (counted.size === 0) return
      const taken = [...counted.values()]
      counted = new Map()
      try {
        for (const added of await addCalls(db, taken)) onCalls(added)
      } catch (err) {
        for (const one of taken) add(one)
        throw err
      }
    },
  }
}

/**
 * The resellers of a fare share its call, each with the highest priority of its own watches. Returns what was added, by
 * priority.
 */
async function addCalls(db: Db, counted: readonly Counted[]): Promise<PriorityCalls[]> {
  const { rows } = await sql<PriorityCalls>`
    with shared as materialized (
      select c.minute, c.lane, coalesce(r.id, 0) as reseller_id, coalesce(p.priority, '') as priority,
             sum(c.calls / greatest(1, (select count(*) from turn t where t.tracked_fare_id = f.id))) as calls
        from jsonb_to_recordset(${JSON.stringify(counted)}::jsonb)
          as c (minute timestamptz, lane text, "fareId" bigint, calls float8)
        left join tracked_fare f on f.id = c."fareId"
        left join lateral (select reseller_id as id from turn t where t.tracked_fare_id = f.id) r on true
        left join lateral (
          select w.priority
            from watch w
           where w.tracked_fare_id = f.id and w.reseller_id = r.id and w.paused_at is null and w.ended_at is null
           order by array_position(array['urgent', 'high', 'normal', 'low'], w.priority)
           limit 1) p on true
       group by 1, 2, 3, 4
    ), added as (
      insert into call_minute as m (minute, lane, reseller_id, priority, calls)
      select * from shared order by 1, 2, 3, 4
          on conflict (minute, lane, reseller_id, priority) do update
         set calls = m.calls + excluded.calls
    )
    select priority, sum(calls)::float8 as calls from shared group by priority
  `.execute(db)
  return rows
}
