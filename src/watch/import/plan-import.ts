import { sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'

/** What an import does to the watches of a reseller. */
export interface ImportPlan {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  /** Of the changed and the unchanged ones, those that have ended by themselves, and stay so. */
  readonly ended: number
}

/** Where staged row `s` asks the question of tracked fare `f`. */
export const SAME_QUESTION = sql`
      f.flight_id = s.flight_id and coalesce(f.return_flight_id, '') = s.return_flight_id
  and f.residents_adults = s.residents_adults and f.residents_children = s.residents_children
  and f.residents_infants = s.residents_infants and f.non_residents_adults = s.non_residents_adults
  and f.non_residents_children = s.non_residents_children and f.non_residents_infants = s.non_residents_infants
`

/**
 * Holds every staged row against the reseller's watches, in a temporary table `watch_plan`: which watch it is, and
 * whether its question or its settings differ. A list or a question that is not there yet makes no difference to
 * what is counted.
 */
export async function planImport(tx: Tx, resellerId: number): Promise<ImportPlan> {
  await sql`
    create temp table watch_plan on commit drop as
    select s.*, f.id as tracked_fare_id, w.id as watch_id, w.tracked_fare_id as fare_before,
           w.tracked_fare_id is distinct from f.id as other_question,
           (w.price_threshold_amount, w.price_threshold_percent, w.departs_on, w.min_interval_seconds)
             is distinct from
           (s.price_threshold_amount, s.price_threshold_percent, s.departs_on, s.min_interval_seconds)
             as other_settings,
           w.ended_at is not null and w.paused_at is null and w.departs_on is not distinct from s.departs_on as stays_ended
      from staged_watch s
      left join watch_list l on l.reseller_id = ${resellerId} and l.name = s.list
      left join tracked_fare f on ${SAME_QUESTION}
      left join watch w on w.watch_list_id = l.id and w.reference = s.reference and w.reseller_id = ${resellerId}
  `.execute(tx)
  await sql`analyze watch_plan`.execute(tx)
  return selectOne(
    sql<ImportPlan>`
      select count(*) filter (where watch_id is null) as added,
             count(*) filter (where watch_id is not null and (other_question or other_settings)) as changed,
             count(*) filter (where watch_id is not null and not (other_question or other_settings)) as unchanged,
             count(*) filter (where not other_question and stays_ended) as ended
        from watch_plan
    `,
    tx,
  )
}
