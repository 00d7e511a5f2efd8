import { type Static, Type } from 'typebox'
import { type Db, sql } from '../platform/db/database.ts'
import { Instant, object, orNull } from '../platform/http/schemas.ts'
import { readFares } from './due.ts'
import { DUE_SECONDS, OWN_SECONDS, QUEUES, readAllFares } from './queues.ts'
import { afterChange, changesPerDay } from './score.ts'

const Turn = object({
  reseller: Type.String(),
  weight: Type.Number({ description: 'Its watches, each times its priority.' }),
  score: Type.Number({ description: 'What a check is worth to it.' }),
  dueInSeconds: orNull(Type.Number(), 'When its turn comes, as fast as its queue moves now.'),
  everySeconds: orNull(
    Type.Number(),
    'The time between two turns, as fast as its queue moves now.',
  ),
  aloneSeconds: orNull(
    Type.Number(),
    'The time between two turns if it were alone with its share of the budget: the longest to expect.',
  ),
})

/** When and why the turns of a fare come. */
export const FareTurnsShape = object(
  {
    changesPerDay: Type.Number({ description: 'Estimated, at present.' }),
    afterChange: Type.Number({ description: 'The factor of the time since its last change.' }),
    eventValue: Type.Number({ description: 'The running value of its changes.' }),
    everySeconds: orNull(Type.Number(), 'The usual time between two checks, as of the last one.'),
    resellers: Type.Array(Turn, {
      description:
        'Its turn in the queue of each reseller, the next one first. The reseller whose turn it is pays.',
    }),
    why: Type.String({ description: 'The same in words.' }),
  },
  { title: 'FareTurns' },
)
type FareTurns = Static<typeof FareTurnsShape>

/** Reads the turns of a scheduled fare; null if it is not scheduled. */
export async function readFareTurns(
  db: Db,
  { fareId, now }: { readonly fareId: number; readonly now: Date },
): Promise<FareTurns | null> {
  const fare = (await readFares(db, [fareId])).get(fareId)
  if (fare === undefined) return null
  const all = await readAllFares(db)
  const at = now.getTime() / 1_000
  const { memory } = fare
  const turns = {
    changesPerDay: changesPerDay(all, memory, at),
    afterChange: afterChange(all, memory, at),
    eventValue: memory.values[memory.state ?? 'available'],
    everySeconds: fare.rate === null ? null : 1 / fare.rate,
    resellers: await readTurns(db, fareId),
  }
  return { ...turns, why: explain(turns) }
}

/** @example 'about 1.20 changes a day (× 1.00 since its last change); a check about every 16 s: acme in 9 s and every 17 s, alone every 20 s (weight 2, score 1.80)' */
function explain({ resellers, ...fare }: Omit<FareTurns, 'why'>): string {
  const changes = `about ${fare.changesPerDay.toFixed(2)} changes a day (× ${fare.afterChange.toFixed(2)} since its last change)`
  const every =
    fare.everySeconds === null ? '' : `; a check about every ${seconds(fare.everySeconds)}`
  const parts = resellers.map(({ reseller, weight, score, dueInSeconds, ...turn }) => {
    const due = dueInSeconds === null ? '' : ` in ${seconds(dueInSeconds)}`
    const next = turn.everySeconds === null ? '' : ` and every ${seconds(turn.everySeconds)}`
    const alone = turn.aloneSeconds === null ? '' : `, alone every ${seconds(turn.aloneSeconds)}`
    return `${reseller}${due}${next}${alone} (weight ${weight}, score ${score.toFixed(2)})`
  })
  return `${changes}${every}: ${parts.join(', ')}`
}

function seconds(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`
}

async function readTurns(db: Db, fareId: number) {
  const { rows } = await sql<Static<typeof Turn>>`
    select r.name as reseller, t.weight, t.score,
           ${DUE_SECONDS} as "dueInSeconds",
           greatest(f.min_recheck_seconds, t.min_seconds,
                    least(1 / nullif(t.score * p.speed, 0), t.max_seconds / p.kept)) as "everySeconds",
           ${OWN_SECONDS} as "aloneSeconds"
      from turn t
      join (${QUEUES}) p using (reseller_id)
      join reseller r on r.id = t.reseller_id
     cross join schedule_facts f
     where t.tracked_fare_id = ${fareId}
     order by "dueInSeconds" nulls last, r.name
  `.execute(db)
  return rows
}

/** How often a fare is checked for a reseller, as far as the reseller's own watches and share explain it. */
export const WatchPaceShape = object(
  {
    changesPerDay: Type.Number({
      description:
        'Estimated changes of the fare a day at present, by what the upstream showed of it and the time since its last change.',
    }),
    expectedIntervalSeconds: orNull(
      Type.Integer(),
      'The longest time between two checks to expect, by your share of the budget and your own watches alone. Budget that other resellers leave, and checks that they pay for, make it shorter.',
    ),
  },
  { title: 'WatchPace' },
)

type WatchPace = Static<typeof WatchPaceShape>

interface OwnPaceArgs {
  readonly fareIds: readonly number[]
  readonly resellerId: number
  readonly now: Date
  readonly minRecheckSeconds: number
}

/**
 * Reads what a reseller may know of the turns of its fares; nothing of a fare without an active watch of the reseller. It
 * follows from the reseller's own queue, and from what the upstream showed of the fare, which all its watchers share.
 */
export async function readOwnPaces(
  db: Db,
  { fareIds, resellerId, now, minRecheckSeconds }: OwnPaceArgs,
): Promise<ReadonlyMap<number, WatchPace>> {
  if (fareIds.length === 0) return new Map()
  const fares = await readFares(db, fareIds)
  const all = await readAllFares(db)
  const { rows } = await sql<{ fareId: number; seconds: number | null }>`
    select t.tracked_fare_id as "fareId", greatest(${minRecheckSeconds}, ${OWN_SECONDS}) as seconds
      from turn t
      join (${QUEUES}) p using (reseller_id)
     where t.tracked_fare_id = any(${fareIds}::bigint[]) and t.reseller_id = ${resellerId}
  `.execute(db)
  return new Map(
    rows.flatMap(({ fareId, seconds }) => {
      const fare = fares.get(fareId)
      if (fare === undefined) return []
      const changes = changesPerDay(all, fare.memory, now.getTime() / 1_000)
      const pace = {
        changesPerDay: Number(changes.toPrecision(3)),
        expectedIntervalSeconds: seconds === null ? null : Math.ceil(seconds),
      }
      return [[fareId, pace] as const]
    }),
  )
}

/** When a fare is checked next, and what decides it. */
export const ExpectedCheckShape = object({
  at: Instant,
  why: Type.String({ description: 'What decides the time, in words.' }),
})

export interface ScheduleRow {
  readonly lane: string | null
  readonly laneDueAt: Date | null
  /** The end of the minimum interval; null if the fare is not in the schedule. */
  readonly notBefore: Date | null
  /** Seconds until the first of its turns comes, as fast as the queues move; null before they move. */
  readonly dueSeconds: number | null
  /** Null unless a process has claimed the fare. */
  readonly claimId: string | null
  readonly now: Date
}

const WHY: Readonly<Record<string, string>> = {
  max_delay: 'a watch of it asks for a longest delay',
  confirmation: 'the last answer contradicts the belief and is checked again',
  first_check: 'first check of a watch',
  retry: 'the last check was unknown: one early retry',
}

export function expectedCheck({
  lane,
  laneDueAt,
  notBefore,
  dueSeconds,
  claimId,
  now,
}: ScheduleRow): Static<typeof ExpectedCheckShape> | null {
  if (notBefore === null) return null
  if (claimId !== null) return { at: now, why: 'it is being checked' }
  const turn = expectedTurn(notBefore, dueSeconds, now)
  if (lane === null || laneDueAt === null || turn.at < laneDueAt) return turn
  return { at: laneDueAt, why: WHY[lane] ?? lane }
}

function expectedTurn(notBefore: Date, dueSeconds: number | null, now: Date) {
  if (dueSeconds === null) return { at: notBefore, why: 'its minimum interval' }
  const due = new Date(now.getTime() + dueSeconds * 1_000)
  if (notBefore > now && due <= notBefore) return { at: notBefore, why: 'its minimum interval' }
  return { at: due, why: 'its turn: fares that are due before it come first, within the budget' }
}
