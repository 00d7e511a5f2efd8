import type { PausedWork, WorkRole } from '../platform/base/kinds.ts'
import type { Disk } from '../platform/db/database-health.ts'
import { missingWork, PROGRESS_MS } from '../platform/db/live-processes.ts'
import { presentRate } from '../upstream/budget/budget-limit.ts'
import type { UnkeptMaxDelays } from '../watches/max-delays.ts'
import type { BudgetUse, KnownProcess, Status } from './status-shapes.ts'

/** What the checks judge by. */
export const LIMITS = {
  /** With a larger share of stale fares an operator must act, if there are so many. */
  staleShare: 0.1,
  staleFares: 10,
  /** The same, however few there are. */
  staleMost: 0.5,
  /** Two due times of a list have brought none, and the second sync has had time to end. */
  missedLists: 2.5,
  /** So many late changes, if they concern a larger share of the fares, are not those of a few odd fares. */
  lateChanges: 10,
  lateChangeShare: 0.01,
  /** A delivery that farewatch could send is late after this time. */
  deliveryLateSeconds: 300,
  /** Changes are detected too late if one check of all fares takes longer. */
  roundSeconds: 3_600,
  /** If clocks differ by more, decisions that depend on time can be wrong. */
  clockSeconds: 2,
  /** With less free space on its disk, the database may soon stop. */
  freeBytes: 1e9,
  freeShare: 0.1,
  /** With more in its memory, Redis may soon refuse jobs. */
  redisMemoryShare: 0.8,
} as const

/** A pause without an end that is this old was probably forgotten. */
const FORGOTTEN_MS = 12 * 3_600_000
/** A tick starts due work within five seconds. */
const OVERDUE_MS = 30_000
/** Each role of a worker has ticks of a minute that one process runs for all. A restart may be between two of them. */
const TICK_SILENCE_MS = 90_000

/** Whether work that is due has not been started. */
export function isOverdue(due: Date, at: Date): boolean {
  return at.getTime() - due.getTime() >= OVERDUE_MS
}

/** With few checks it takes half a minute until a breaker opens. */
export function areMostUnknown(budget: BudgetUse | null): boolean {
  return budget !== null && 2 * budget.unknownLastMinute > budget.checksLastMinute
}

/** A sum that was accepted at the limit may be above it by an error of rounding. */
export function exceedsShare({ neededPerSecond, allowedPerSecond }: UnkeptMaxDelays): boolean {
  return neededPerSecond > allowedPerSecond * (1 + 1e-9)
}

/** The late changes, if there are more than a few fares have whose answers differ each time. */
export function lateChanges({
  contradicted,
  beliefs,
}: Pick<Status, 'contradicted' | 'beliefs'>): { fares: number; since: Date } | null {
  const late = contradicted?.waits.find(({ wait }) => wait === 'late')
  const areMany =
    late !== undefined &&
    late.fares >= LIMITS.lateChanges &&
    late.fares > LIMITS.lateChangeShare * beliefs.fares
  return areMany ? late : null
}

/** Whether no process runs the ticks that one process runs for all. */
export function isTickLate(tickedAt: Date, at: Date): boolean {
  return at.getTime() - tickedAt.getTime() > TICK_SILENCE_MS
}

/** Whether the database may soon stop, because its disk is almost full. */
export function isAlmostFull({ freeBytes, totalBytes }: Disk): boolean {
  return freeBytes < LIMITS.freeBytes || freeBytes / totalBytes < LIMITS.freeShare
}

/** Whether a process was killed, hangs, or has lost the database. */
export function isWithoutProgress({ lastProgressAt }: KnownProcess, now: Date): boolean {
  return now.getTime() - lastProgressAt.getTime() > PROGRESS_MS
}

/** For how long a delivery that farewatch could send has waited. Null if none is late. */
export function deliveryLateMs(
  { oldest }: Pick<Status['deliveries'], 'oldest'>,
  now: Date,
): number | null {
  const waitedMs = oldest.healthy === null ? 0 : now.getTime() - oldest.healthy * 1000
  return waitedMs > 1_000 * LIMITS.deliveryLateSeconds ? waitedMs : null
}

/** Whether the clock of a running process is wrong, as far as the database's is right. */
export function hasWrongClock(process: KnownProcess, now: Date): boolean {
  const apart = Math.abs(process.clockAheadSeconds ?? 0)
  return apart > LIMITS.clockSeconds && !isWithoutProgress(process, now)
}

/** How long one check of every fare takes at the present budget. Null if that is not too long. */
export function longRoundMs({
  budget,
  beliefs,
}: Pick<Status, 'budget' | 'beliefs'>): number | null {
  if (budget === null) return null
  const seconds = beliefs.fares / presentRate(budget.requestsPerSecond, budget.limit)
  return seconds > LIMITS.roundSeconds ? 1_000 * seconds : null
}

/** The work that no process does that makes progress. */
export function missingRoles(processes: readonly KnownProcess[], at: Date): WorkRole[] {
  return missingWork(processes.filter((one) => !isWithoutProgress(one, at)).map(({ role }) => role))
}

type Pause = Status['pauses'][number]

/** Whether a pause without an end has lasted so long that it was probably forgotten. */
export function isForgotten({ from, until }: Pick<Pause, 'from' | 'until'>, at: Date): boolean {
  return until === null && at.getTime() - from.getTime() > FORGOTTEN_MS
}

/** Whether operators have paused some work. */
export function isPausedNow({ pauses }: Pick<Status, 'pauses'>, what: PausedWork): boolean {
  return pauses.some((pause) => pause.running && pause.what === what)
}
