import type { PausedWork, WorkRole } from '../platform/base/kinds.ts'
import { aheadText } from '../platform/base/text.ts'
import { missingWork } from '../platform/db/live-processes.ts'
import { hasWrongClock, isAlmostFull, isTickLate, isWithoutProgress } from './status-limits.ts'
import type { KnownProcess, QueueState, Status, StatusWarning } from './status-shapes.ts'

/** A pause without an end that is this old was probably forgotten. The alert PausedWithoutEnd waits as long. */
const FORGOTTEN_MS = 12 * 3_600_000

type Pause = Status['pauses'][number]
type Named = Pick<StatusWarning, 'about' | 'code'> & Partial<StatusWarning>

export function warn(named: Named, text: string): StatusWarning {
  return { level: 'warn', subject: null, since: null, until: null, ...named, text }
}

export function bad(named: Named, text: string): StatusWarning {
  return warn({ ...named, level: 'bad' }, text)
}

export function queueWarnings(queue: QueueState | null, at: Date): StatusWarning[] {
  if (queue === null) return []
  const { fault, lastTick, queues } = queue
  if (fault !== null) {
    return [bad({ about: 'work', code: 'queue_down' }, `The queue does not answer: ${fault}.`)]
  }
  const dead = queues.reduce((sum, one) => sum + one.dead, 0)
  const noTick = { about: 'work', code: 'no_tick', since: lastTick?.at ?? null } as const
  return [
    ...(lastTick === null || isTickLate(lastTick.at, at)
      ? [bad(noTick, 'No worker runs the regular work.')]
      : []),
    ...(dead === 0
      ? []
      : [warn({ about: 'work', code: 'jobs_dead' }, `Dead jobs of the queues: ${dead}.`)]),
  ]
}

/** The work that no process does that makes progress. */
export function missingRoles(processes: readonly KnownProcess[], at: Date): WorkRole[] {
  return missingWork(processes.filter((one) => !isWithoutProgress(one, at)).map(({ role }) => role))
}

export function processWarnings(
  processes: readonly KnownProcess[] | undefined,
  at: Date,
): StatusWarning[] {
  if (processes === undefined) return []
  if (processes.length === 0) {
    return [bad({ about: 'work', code: 'no_process' }, 'No worker and no API runs.')]
  }
  const missing = missingRoles(processes, at)
  const text = `No process has these roles: ${missing.join(', ')}.`
  const lacking = missing.length === 0 ? [] : [bad({ about: 'work', code: 'role_missing' }, text)]
  const each = processes.flatMap((one) => {
    const { role, host, pid, lastProgressAt, clockAheadSeconds } = one
    const named = `${role} on host ${host} (pid ${pid})`
    if (isWithoutProgress(one, at)) {
      const silent = { about: 'work', code: 'process_silent', since: lastProgressAt } as const
      return [warn(silent, `The ${named} makes no progress.`)]
    }
    if (!hasWrongClock(one, at)) return []
    const apart = aheadText(1_000 * (clockAheadSeconds ?? 0))
    const text = `The clock of the ${named} is ${apart} that of the database.`
    return [bad({ about: 'work', code: 'clock_wrong' }, text)]
  })
  return [...lacking, ...each]
}

/** @param disk null if it cannot be seen. */
export function diskWarnings(disk: Status['disk']): StatusWarning[] {
  if (disk === null || !isAlmostFull(disk)) return []
  const text = `The disk of the database has ${freeText(disk)}.`
  return [bad({ about: 'work', code: 'disk_filling' }, text)]
}

/** @example '346 MB free (8 %)' */
export function freeText({ freeBytes, totalBytes }: NonNullable<Status['disk']>): string {
  const share = Math.round((100 * freeBytes) / totalBytes)
  return `${Math.round(freeBytes / 1e6)} MB free (${share} %)`
}

const WORK_SUBJECTS = { checks: 'fares', syncs: 'routes', deliveries: 'deliveries' } as const
const STOPPED = {
  checks: 'No fare is checked',
  syncs: 'No list is fetched',
  deliveries: 'Nothing is delivered',
} as const

/** What operators have paused. A pause that was planned and has not begun is none. */
export function pauseWarnings({ pauses, at }: Pick<Status, 'pauses' | 'at'>): StatusWarning[] {
  return pauses
    .filter(({ running }) => running)
    .map(({ what, from, until, reason }) => {
      const named = { about: WORK_SUBJECTS[what], code: `${what}_paused`, since: from, until }
      const why = reason === null ? '' : `: ${reason}`
      const text = `${STOPPED[what]}, as operators have paused it${why}.`
      return isForgotten({ from, until }, at) ? bad(named, text) : warn(named, text)
    })
}

/** Whether a pause without an end has lasted so long that it was probably forgotten. */
export function isForgotten({ from, until }: Pick<Pause, 'from' | 'until'>, at: Date): boolean {
  return until === null && at.getTime() - from.getTime() > FORGOTTEN_MS
}

/** Whether operators have paused some work. */
export function isPausedNow({ pauses }: Pick<Status, 'pauses'>, what: PausedWork): boolean {
  return pauses.some((pause) => pause.running && pause.what === what)
}
