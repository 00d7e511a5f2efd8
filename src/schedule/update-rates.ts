import { type Db, PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { withSessionLock } from '../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { applyToJoining, applyToNext, scoreFares, type Walk } from './apply-paces.ts'
import { IN_LANES } from './claim.ts'
import { limitsOf } from './fare-memory.ts'
import { divideBudget, type Pace, type ScoreGroup, solvePace } from './policy/pace.ts'
import { readSharedModel } from './rate-store.ts'
import { HORIZON_SECONDS, LEASE_SECONDS, type ScheduleRules } from './schedule-rules.ts'

/** How often the paces are solved. */
const UPDATE_SECONDS = 60
/**
 * While fares wait to join the queue, they are solved sooner: after this time, if it takes no more than a
 * twentieth of it.
 */
const JOIN_SECONDS = 5
const MOST_OF_THE_TIME = 0.05

/** In how many milliseconds the paces are solved next. If that was last in the future, the clock was set back: now. */
export async function nextUpdateMs(db: Db): Promise<number> {
  const { agoSeconds, solveSeconds, someWait } = await readSolved(db)
  if (agoSeconds < 0) return 0
  const soon = Math.max(JOIN_SECONDS, solveSeconds / MOST_OF_THE_TIME)
  const afterSeconds = someWait ? Math.min(UPDATE_SECONDS, soon) : UPDATE_SECONDS
  return 1_000 * Math.max(0, afterSeconds - agoSeconds)
}

interface Solved {
  /** How long ago the paces were solved. */
  readonly agoSeconds: number
  readonly solveSeconds: number
  /** Whether fares wait to join the queue. */
  readonly someWait: boolean
}

async function readSolved(db: Db): Promise<Solved> {
  return selectOne(
    sql<Solved>`${PREPARED}
      select least(1e9, extract(epoch from clock_timestamp() - solved_at))::float8 as "agoSeconds",
             solve_seconds as "solveSeconds", exists (select from fare_schedule where rates = '{}') as "someWait"
        from fare_schedule_clock
    `,
    db,
  )
}

interface UpdateOptions {
  /** Ends the run early. The next one does the rest. */
  readonly signal?: AbortSignal
  /** How many fares follow the paces of their resellers. */
  readonly mostFollowing?: number
  /** Called when the clock of the database was set back since the last solve, by how much at least. */
  readonly onSetBack?: (seconds: number) => void
}

/** A million fares take half a minute of a processor, and would take that every minute while their paces move. */
const MOST_FOLLOWING = 100_000

/** Less is the difference between two readings of the clock. */
const SET_BACK_SECONDS = 10

/**
 * Solves the pace of each reseller, and puts the fares in line with it that have to follow at once: those that join
 * the queue, those whose watches have changed, and those of resellers whose pace has changed by over a tenth. Of the
 * last at most 100,000 follow: the next run goes on with the others, and each follows at its next check. Safe to run
 * twice and in several processes: one at a time does it, and writes what follows from the rows.
 */
export async function updateRates(
  db: Db,
  rules: ScheduleRules,
  { signal, onSetBack, mostFollowing: limit = MOST_FOLLOWING }: UpdateOptions = {},
): Promise<void> {
  await withSessionLock(db, 'update-rates', async (session) => {
    if ((await nextUpdateMs(session)) > 0) return
    const { agoSeconds } = await readSolved(session)
    if (agoSeconds < -SET_BACK_SECONDS) onSetBack?.(-agoSeconds)
    const beganMs = performance.now()
    const context = { model: await readSharedModel(session), now: Date.now() / 1_000, rules }
    if (!(await scoreFares(session, context, { signal }))) return
    const paces = await solvePaces(session, rules)
    if (!(await applyToJoining(session, context, { signal }))) return
    const changed = paces.filter(({ isApplied }) => !isApplied)
    const walk = (await readWalk(session)) ?? (await beginWalk(session, changed))
    const walked = await applyToNext(session, { ...context, walk, limit }, { signal })
    await inTransaction(session, async (tx) => {
      const tookSeconds = (performance.now() - beganMs) / 1_000
      await limitTimes(tx, await saveSolved(tx, rules, { tookSeconds, walked }))
    })
  })
}

/** The walk that the last run left. */
async function readWalk(db: Db): Promise<Walk | undefined> {
  const left = await selectOne(
    sql<Walk>`select following as resellers, followed_to as after from fare_schedule_clock`,
    db,
  )
  return left.resellers.length > 0 ? left : undefined
}

/**
 * From its first fare on, the paces count as applied. Resellers whose paces change during the walk are in the next one
 * (`savePaces`). The clock is locked first, as claims do.
 */
async function beginWalk(db: Db, paces: readonly SolvedPace[]): Promise<Walk> {
  return selectOne(
    sql<Walk>`
      with clock as materialized (
        select from fare_schedule_clock for update
      ), applied as (
        update fare_schedule_reseller p
           set applied_pace = i."appliedPace", applied_kept = i."appliedKept"
          from clock
         cross join jsonb_to_recordset(${JSON.stringify(paces)}::jsonb) as i (id bigint, "appliedPace" float8, "appliedKept" float8)
         where p.reseller_id = i.id
        returning p.reseller_id as id
      )
      update fare_schedule_clock
         set following = (select coalesce(array_agg(id), '{}') from applied), followed_to = 0
      returning following as resellers, followed_to as after
    `,
    db,
  )
}

/** One statement must end within its timeout. The next minute limits the others. */
const MOST_LIMITED = 50_000

/**
 * Limits the times of fares whose shortest interval has ended: none is due later than one interval from now. So do
 * others if the virtual clock is slower than before, because more fares share the budget: what is left of a
 * shortest interval is less virtual time. A time that lies further ahead than its largest interval is now: the
 * clock of the database was set back.
 */
async function limitTimes(tx: Tx, { isSlower }: { readonly isSlower: boolean }): Promise<void> {
  const mostLeased = sql`now() + make_interval(secs => ${LEASE_SECONDS + HORIZON_SECONDS})`
  await sql`
    with late as materialized (
      select q.tracked_fare_id as id, a.is_ahead, a.latest
        from fare_schedule q
       cross join fare_schedule_clock c
       cross join lateral (
         select q.not_before > now() + make_interval(secs => q.interval_seconds) as is_ahead,
                c.v + greatest(1 / q.rate, extract(epoch from q.not_before - now())::float8 * c.speed) as latest) a
       where ((q.not_before <= now() or ${isSlower}) and q.leased_until <= now() and q.vdue > a.latest and q.vdue < 'infinity')
          or a.is_ahead or q.leased_until > ${mostLeased}
       limit ${MOST_LIMITED}
         for update of q skip locked
    )
    update fare_schedule q
       set vdue = case when q.vdue < 'infinity' then least(q.vdue, late.latest) else q.vdue end,
           not_before = case when late.is_ahead then now() else q.not_before end,
           lane_due_at = case when late.is_ahead and q.lane is not null then now() else q.lane_due_at end,
           leased_until = least(q.leased_until, ${mostLeased})
      from late
     where q.tracked_fare_id = late.id
  `.execute(tx)
}

/**
 * What lanes take is no time of the clock: otherwise fares would be due later than the ends of their shortest
 * intervals. Returns whether the clock is slower than before by over a tenth.
 */
async function saveSolved(
  tx: Tx,
  { requestsPerSecond, minRecheckSeconds }: ScheduleRules,
  { tookSeconds, walked }: { readonly tookSeconds: number; readonly walked: Walk },
): Promise<{ isSlower: boolean }> {
  return selectOne(
    sql<{ isSlower: boolean }>`
      update fare_schedule_clock
         set fares = n.fares,
             solve_seconds = ${tookSeconds},
             following = ${walked.resellers}::bigint[],
             followed_to = ${walked.after},
             requests_per_second = ${requestsPerSecond},
             min_recheck_seconds = ${minRecheckSeconds},
             speed = greatest(1e-6, coalesce((${requestsPerSecond}::float8 - l.in_lanes) / nullif(n.rates, 0), 1)),
             solved_at = clock_timestamp()
        from (select count(*) filter (where rate is not null) as fares, sum(rate) as rates from fare_schedule) n,
             (select coalesce(sum(${IN_LANES}), 0) as in_lanes from fare_schedule_reseller p) l
      returning new.speed < 0.9 * old.speed as "isSlower"
    `,
    tx,
  )
}

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

interface SolvedPace extends Pace {
  readonly id: number
  readonly part: number
  readonly appliedPace: number
  readonly appliedKept: number
  /** Whether its fares follow at their next checks. */
  readonly isApplied: boolean
}

/** Solves and writes the paces. */
async function solvePaces(db: Db, rules: ScheduleRules): Promise<readonly SolvedPace[]> {
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

/**
 * While a walk goes on, a changed pace counts as never applied: fares that have followed may be in line with what was in
 * between, even if the pace comes back.
 */
async function savePaces(db: Db, paces: readonly SolvedPace[]): Promise<void> {
  await sql`
    update fare_schedule_reseller p
       set per_score = coalesce(i."perScore", 0), least_score = coalesce(i."leastScore", 0),
           most_changes = coalesce(i."mostChanges", 0), kept = coalesce(i.kept, 1), part = coalesce(i.part, 0),
           applied_pace = case when i."isApplied" or c.following = '{}' and i.id is not null then p.applied_pace else 0 end
      from (select reseller_id as id from fare_schedule_reseller order by reseller_id for update) known
      left join jsonb_to_recordset(${JSON.stringify(paces)}::jsonb)
        as i (id bigint, "perScore" float8, "leastScore" float8, "mostChanges" float8, kept float8, part float8, "isApplied" boolean)
             on i.id = known.id
     cross join fare_schedule_clock c
     where p.reseller_id = known.id
  `.execute(db)
}
