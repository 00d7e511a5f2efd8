import { type Db, sql } from '../platform/db/database.ts'
import { limitsOf } from './fare-memory.ts'
import { IN_LANES } from './lanes.ts'
import { divideBudget, type Pace, type ScoreGroup, solvePace } from './policy/pace.ts'
import type { ScheduleRules } from './schedule-rules.ts'

/** Fares follow a pace at once if it has changed by more than this; otherwise each follows at its next check. */
const TENTH = 0.1

type Groups = ReadonlyMap<number, readonly ScoreGroup[]>

interface GroupRow {
  readonly reseller: number
  readonly fares: number
  readonly score: number
  readonly longest: number | null
  readonly shortest: number | null
}

/** The fares of each reseller in groups whose scores differ by at most 5 %. */
async function readGroups(db: Db, { minRecheckSeconds }: ScheduleRules): Promise<Groups> {
  const { rows } = await sql<GroupRow>`
    select r.reseller, count(*) as fares, avg(r.score) as score, r.longest, r.shortest
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     cross join lateral unnest(f.resellers, q.scores, f.max_delays, f.min_intervals) r (reseller, score, longest, shortest)
     where r.reseller is not null and r.score is not null
     group by r.reseller, round(20 * ln(r.score)), r.longest, r.shortest
  `.execute(db)
  const groups = rows.map(({ reseller, fares, score, longest, shortest }) => {
    const limits = limitsOf({ longest: [longest], shortest: [shortest] }, 0, minRecheckSeconds)
    return { reseller, fares, score, ...limits }
  })
  return Map.groupBy(groups, ({ reseller }) => reseller)
}

interface ResellerRow {
  readonly id: number
  readonly share: number
  readonly inLanes: number
  readonly appliedPace: number
  readonly appliedKept: number
  /** The setting as of the last solve. */
  readonly minRecheckSeconds: number | null
}

export interface SolvedPace extends Pace {
  readonly id: number
  readonly part: number
  readonly appliedPace: number
  readonly appliedKept: number
  /** Whether its fares follow at their next checks. */
  readonly isApplied: boolean
}

/** Solves and writes the paces. */
export async function solvePaces(db: Db, rules: ScheduleRules): Promise<readonly SolvedPace[]> {
  const { requestsPerSecond } = rules
  const groups = await readGroups(db, rules)
  const { rows } = await sql<ResellerRow>`
    select p.reseller_id as id, coalesce(r.share, 0) as share, ${IN_LANES} as "inLanes",
           p.applied_pace as "appliedPace", p.applied_kept as "appliedKept",
           (select min_recheck_seconds from fare_schedule_clock) as "minRecheckSeconds"
      from fare_schedule_reseller p
      left join reseller r on r.id = p.reseller_id
     order by p.reseller_id
  `.execute(db)
  const spending = rows.filter(({ id, share }) => share > 0 && groups.has(id))
  // Ended fares, operators, resellers without watches.
  const ofOthers = rows
    .filter((row) => !spending.includes(row))
    .reduce((sum, { inLanes }) => sum + inLanes, 0)
  const left = Math.max(requestsPerSecond - ofOthers, requestsPerSecond / 2)
  const parts = divideBudget(
    spending.map((row) => ({ ...row, inLanes: 0 })),
    left,
  )
  const spent = divideBudget(spending, left)
  const solved = spending.map((row, i) => {
    const part = parts[i] ?? 0
    const pace = solvePace(groups.get(row.id) ?? [], spent[i] ?? 0, part)
    // A change of the budget concerns all fares alike: it moves no due time.
    const appliedPace = pace.perScore / requestsPerSecond
    const isNear = (a: number, b: number) => Math.abs(a - b) <= TENTH * b
    const isApplied =
      isNear(appliedPace, row.appliedPace) &&
      isNear(pace.kept, row.appliedKept) &&
      row.minRecheckSeconds === rules.minRecheckSeconds
    return { id: row.id, part, ...pace, appliedPace, appliedKept: pace.kept, isApplied }
  })
  await savePaces(db, solved)
  return solved
}

async function savePaces(db: Db, paces: readonly SolvedPace[]): Promise<void> {
  await sql`
    update fare_schedule_reseller p
       set per_score = coalesce(i."perScore", 0), least_score = coalesce(i."leastScore", 0),
           most_changes = coalesce(i."mostChanges", 0), kept = coalesce(i.kept, 1), part = coalesce(i.part, 0),
           applied_pace = case when i.id is not null then p.applied_pace else 0 end
      from (select reseller_id as id from fare_schedule_reseller order by reseller_id for update) known
      left join jsonb_to_recordset(${JSON.stringify(paces)}::jsonb)
        as i (id bigint, "perScore" float8, "leastScore" float8, "mostChanges" float8, kept float8, part float8)
             on i.id = known.id
     where p.reseller_id = known.id
  `.execute(db)
}

/** After the fares follow: where that was ended before, they do so the next time. */
export async function saveApplied(db: Db, paces: readonly SolvedPace[]): Promise<void> {
  if (paces.length === 0) return
  await sql`
    update fare_schedule_reseller p
       set applied_pace = i."appliedPace", applied_kept = i."appliedKept"
      from jsonb_to_recordset(${JSON.stringify(paces)}::jsonb) as i (id bigint, "appliedPace" float8, "appliedKept" float8)
     where p.reseller_id = i.id
  `.execute(db)
}
