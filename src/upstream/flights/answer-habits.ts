import { type Db, PREPARED, sql, type Tx } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import type { LegObservation, Observation } from '../observation.ts'

/** The name under which totals that are not the sum of their passengers are counted. */
export const UNLIKE_SUM = 'total_unlike_sum'

/** What answers have that the interface does not name, and whether such answers count. */
export interface AnswerHabit {
  readonly name: string
  /** How many answers have had it. */
  readonly answers: number
  /** Its share of about the last hundred answers that agree with a belief. */
  readonly share: number
  readonly isUsual: boolean
  /** Whether an answer of the last hour had it. */
  readonly isRecent: boolean
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly acceptedAt: Date | null
}

/** Usual: an operator has accepted it, or most answers have had it for a day. */
const IS_USUAL = sql<boolean>`
  (accepted_at is not null or coalesce(most_since < clock_timestamp() - interval '1 day', false))
`

/** No answer has had it for a day, and few had it before. */
const IS_OLD = sql<boolean>`
  (accepted_at is null and share < 0.05 and last_seen_at < clock_timestamp() - interval '1 day')
`

const COLUMNS = sql`
  name, answers, share, ${IS_USUAL} as "isUsual",
  answers > 0 and last_seen_at > clock_timestamp() - interval '1 hour' as "isRecent",
  first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", accepted_at as "acceptedAt"
`

export async function listHabits(db: Db): Promise<AnswerHabit[]> {
  const { rows } = await sql<AnswerHabit>`
    select ${COLUMNS} from answer_habit order by last_seen_at desc, name
  `.execute(db)
  return rows
}

/** Accepts a name for good, also before any answer has had it; or takes that back, and its count begins again. */
export async function acceptHabit(db: Db, name: string, isAccepted: boolean): Promise<AnswerHabit> {
  return selectOne(
    sql<AnswerHabit>`
      insert into answer_habit (name, accepted_at)
      values (${name}, case when ${isAccepted} then clock_timestamp() end)
          on conflict (name) do update
         set accepted_at = excluded.accepted_at, share = 0, most_since = null
      returning ${COLUMNS}
    `,
    db,
  )
}

/** What is known of the habits when a batch is judged. */
export interface Habits {
  readonly usual: ReadonlySet<string>
  /** The names that answers had lately and that no operator has accepted: their shares go on. */
  readonly counted: ReadonlySet<string>
  readonly accepted: ReadonlySet<string>
}

/**
 * Reads what is usual, for these answers. Where no fare has ever had a price, totals unlike their sums are what this
 * upstream gives, and usual from the first one on.
 */
export async function readHabits(db: Db, observations: readonly Observation[]): Promise<Habits> {
  const { rows } = await sql<{
    name: string
    isUsual: boolean
    isAccepted: boolean
    isOld: boolean
  }>`${PREPARED}
    select name, ${IS_USUAL} as "isUsual", accepted_at is not null as "isAccepted", ${IS_OLD} as "isOld"
      from answer_habit
  `.execute(db)
  const namesOf = (kept: readonly { readonly name: string }[]) => kept.map(({ name }) => name)
  const usual = new Set(namesOf(rows.filter(({ isUsual }) => isUsual)))
  const isShown = observations.some((one) => legsIn(one).some(isUnlikeSum))
  const isFirst = isShown && !namesOf(rows).includes(UNLIKE_SUM)
  if (isFirst && !(await hasPrices(db))) usual.add(UNLIKE_SUM)
  return {
    usual,
    counted: new Set(namesOf(rows.filter(({ isAccepted, isOld }) => !isAccepted && !isOld))),
    accepted: new Set(namesOf(rows.filter(({ isAccepted }) => isAccepted))),
  }
}

async function hasPrices(db: Db): Promise<boolean> {
  const { found } = await selectOne(
    sql<{ found: boolean }>`
      select exists (select from fare_state where price is not null)
             or exists (select from fare_belief_version where price is not null) as found
    `,
    db,
  )
  return found
}

function legsIn({ outbound, return: back }: Observation): LegObservation[] {
  return back === null ? [outbound] : [outbound, back]
}

function isUnlikeSum(leg: LegObservation): boolean {
  return leg.kind === 'available' && leg.flight.totalUnlikeSum
}

/** The members that an unavailable leg has, judged or not. */
function membersOf(leg: LegObservation): readonly string[] {
  return leg.kind === 'available' ? [] : (leg.members ?? [])
}

/**
 * The answer as far as it counts: an unavailable leg with unusual members says nothing, and a total unlike its sum is no
 * price where that is unusual. To judge it again changes nothing.
 */
export function judgedBy({ usual }: Pick<Habits, 'usual'>, observation: Observation): Observation {
  const judged = (leg: LegObservation): LegObservation => {
    if (isUnusualTotal(leg, usual)) return { ...leg, flight: { ...leg.flight, price: null } }
    const members = membersOf(leg)
    if (leg.kind !== 'unavailable' || members.every((name) => usual.has(name))) return leg
    return { kind: 'unknown', reason: 'unknown_members', members }
  }
  const outbound = judged(observation.outbound)
  const back = observation.return && judged(observation.return)
  if (outbound === observation.outbound && back === observation.return) return observation
  const unusual = [outbound, back].flatMap((leg) => (leg?.kind === 'unknown' && leg.members) || [])
  const detail = `the interface does not have ${[...new Set(unusual)].join(', ')}`
  return {
    ...observation,
    outbound,
    return: back,
    ...(unusual.length === 0 ? {} : { detail }),
  }
}

function isUnusualTotal(
  leg: LegObservation,
  usual: ReadonlySet<string>,
): leg is LegObservation & { readonly kind: 'available' } {
  return isUnlikeSum(leg) && !usual.has(UNLIKE_SUM)
}

/** An answer that counts, and which of its flights are believed unavailable. */
export interface CountedAnswer {
  readonly observation: Observation
  readonly areGone: { readonly outbound: boolean; readonly return: boolean }
}

/** What the answers of a batch show of one name. */
interface Shown {
  readonly name: string
  /** How many answers have it. */
  readonly seen: number
  /** How many of the legs that count have it. */
  readonly had: number
  /** The legs that count: they agree with a believed "unavailable", or show a price. */
  readonly of: number
}

/**
 * Counts what the answers of a batch have. The shares are running means, so a row that another batch writes at the time
 * is left out. A batch without such answers writes nothing while no name is counted.
 */
export async function countHabits(
  tx: Tx,
  answers: readonly CountedAnswer[],
  habits: Habits,
): Promise<void> {
  const shown = shownIn(answers, habits)
  const found = shown.filter(({ name, seen }) => seen > 0 && !habits.counted.has(name))
  if (found.length > 0) await insertNames(tx, found, habits)
  if (shown.length > 0) await updateShares(tx, shown)
}

function shownIn(answers: readonly CountedAnswer[], { counted, accepted }: Habits): Shown[] {
  const legs = answers.flatMap(({ observation: { outbound, return: back }, areGone }) => [
    { leg: outbound, isGone: areGone.outbound },
    ...(back ? [{ leg: back, isGone: areGone.return }] : []),
  ])
  const agreeing = legs
    .filter(
      ({ leg, isGone }) => isGone && (leg.kind === 'unavailable' || membersOf(leg).length > 0),
    )
    .map(({ leg }) => membersOf(leg))
  const priced = legs.filter(({ leg }) => isUnlikeSum(leg) || hasPrice(leg))
  const unlike = priced.filter(({ leg }) => isUnlikeSum(leg)).length
  const seen = answers.map(({ observation }) => new Set(legsIn(observation).flatMap(membersOf)))
  const names = new Set([...seen.flatMap((members) => [...members]), ...counted])
  names.delete(UNLIKE_SUM)
  const shown = [...names].map((name) => ({
    name,
    seen: seen.filter((members) => members.has(name)).length,
    had: agreeing.filter((members) => members.includes(name)).length,
    of: agreeing.length,
  }))
  if (unlike > 0 || counted.has(UNLIKE_SUM)) {
    shown.push({ name: UNLIKE_SUM, seen: unlike, had: unlike, of: priced.length })
  }
  return shown.filter((one) => !accepted.has(one.name) && one.of + one.seen > 0)
}

function hasPrice(leg: LegObservation): boolean {
  return leg.kind === 'available' && leg.flight.price !== null
}

/** At most so many names are kept: an upstream may invent a new one for each answer. */
const MOST_NAMES = 100

async function insertNames(tx: Tx, found: readonly Shown[], { usual }: Habits): Promise<void> {
  const given = found.map(({ name }) => ({ name, isUsual: usual.has(name) }))
  await sql`delete from answer_habit where ${IS_OLD}`.execute(tx)
  await sql`
    insert into answer_habit (name, share, most_since)
    select name, case when "isUsual" then 1 else 0 end, case when "isUsual" then clock_timestamp() - interval '2 days' end
      from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as g (name text, "isUsual" boolean)
     order by name
     limit greatest(0, ${MOST_NAMES} - (select count(*) from answer_habit))
        on conflict (name) do nothing
  `.execute(tx)
}

/** Less is nothing: a share that halves with every batch leaves the numbers that the server can compute with. */
const LEAST_SHARE = 1e-9

async function updateShares(tx: Tx, shown: readonly Shown[]): Promise<void> {
  await sql`
    with shown as (
      select s.*, power(0.99, s."of") as rest
        from jsonb_to_recordset(${JSON.stringify(shown)}::jsonb) as s (name text, seen integer, had integer, "of" integer)
    ), locked as (
      select name, case when share > ${LEAST_SHARE} then share else 0 end as share from answer_habit
       where name in (select name from shown) and accepted_at is null
         for update skip locked
    ), updated as (
      select name, seen, share * rest + (1 - rest) * had / greatest("of", 1) as share from shown join locked using (name))
    update answer_habit h
       set answers = h.answers + u.seen, share = u.share,
           most_since = case when u.share > 0.5 then coalesce(h.most_since, clock_timestamp()) end,
           last_seen_at = case when u.seen > 0 then clock_timestamp() else h.last_seen_at end
      from updated u
     where h.name = u.name
  `.execute(tx)
}
