import {
  endDeparted,
  endWatches,
  expireFares,
  nextDepartureMs,
  pruneEvidence,
  pruneFares,
  pruneMinutes,
} from '../fares/end.ts'
import { closeUncheckedIncidents } from '../fares/incidents.ts'
import { rollUpDays } from '../history/roll-up-days.ts'
import type { WorkRole } from '../platform/base/kinds.ts'
import { createScrub } from '../platform/base/secrets.ts'
import { secretsOf } from '../platform/config/config.ts'
import { endLongSessions } from '../platform/db/analyst-logins.ts'
import type { Db } from '../platform/db/database.ts'
import { followHints } from '../platform/db/listener.ts'
import { withSessionLock } from '../platform/db/session-lock.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import {
  enqueueDueSchedules,
  enqueueLostJobs,
  nextScheduleMs,
} from '../platform/ticks/schedules.ts'
import {
  type DueTick,
  type RunningDueTick,
  runWhenDue,
  type SharedTick,
  shareTick,
} from '../platform/ticks/ticks.ts'
import { pruneSnapshots } from '../routes/snapshots.ts'
import { dispatchChecks, nextDispatchMs, pacedRate, readClosedSeconds } from '../schedule/claim.ts'
import { correctSetBack } from '../schedule/due.ts'
import { presentRate, readBudgetLimit } from '../upstream/budget/budget-limit.ts'
import { recordBeliefAges } from '../views/belief-ages.ts'
import type { App } from './app.ts'
import type { ClaimCapacity } from './claim-capacity.ts'
import { countTick } from './count-work.ts'
import { deleteMarked } from './delete-reseller.ts'
import { countCheckers } from './processes.ts'
import { schedulesOf, verifyRulesOf } from './settings-for.ts'

/** While the workers carry less than the budget, so much is claimed at a time. */
const CLAIM_AHEAD_SECONDS = 2
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** A tick that ran longer would fail the liveness check. */
const TICK_LIMIT_MS = 30_000

/** The ticks of a process: those that it runs for itself, and those that one process runs for all. */
export interface Ticks {
  readonly own: readonly DueTick[]
  readonly shared: readonly SharedTick[]
}

interface TickArgs {
  readonly roles: readonly WorkRole[]
  /** Those of the deliveries. */
  readonly more: Ticks
  readonly capacity: Pick<ClaimCapacity, 'perSecond'>
  readonly onTick: () => void
}

export interface RunningTicks {
  /** When the oldest run that has not ended began; null if none runs. */
  busySince(): Date | null
  stop(): Promise<void>
}

/** Starts the ticks of the roles of this process. `onTick` is called at the end of each run that succeeds. */
export function startTicks(
  app: App,
  queue: Pick<QueueSystem, 'enqueue' | 'counts' | 'onReconnect'>,
  { roles, more, capacity, onTick }: TickArgs,
): RunningTicks {
  const { clock, log, listener, metrics } = app
  const { db } = app.database
  const sharing = { db, scrub: createScrub(secretsOf(app.config)) }
  const running = new Map<string, Date>()
  const start = ({ run, ...tick }: DueTick): RunningDueTick =>
    runWhenDue(
      {
        ...tick,
        run: async (signal) => {
          running.set(tick.name, clock.now())
          try {
            const limit = AbortSignal.timeout(TICK_LIMIT_MS)
            const dueMs = await run(AbortSignal.any([signal, limit]))
            onTick()
            return dueMs
          } finally {
            running.delete(tick.name)
          }
        },
      },
      { clock, log, random: Math.random },
    )
  const startOwn = (tick: DueTick) =>
    start({ ...tick, run: countTick({ metrics, clock }, { ...tick, everyMs: tick.atMostMs }) })
  const of = <T>(role: WorkRole, ticks: readonly T[]) => (roles.includes(role) ? ticks : [])
  const checks = of('check', [dispatchTick(app, queue, capacity)]).map(startOwn)
  const schedules = of('sync', [scheduleTick(app, queue)]).map(startOwn)
  const own = [...of('check', [departureTick(app)]), ...more.own].map(startOwn)
  const ofAll = [...of('check', endTicks(app)), ...of('sync', upkeepTicks(app)), ...more.shared]
  const shared = ofAll.map((tick) =>
    start(shareTick(sharing, { ...tick, run: countTick({ metrics, clock }, tick) })),
  )
  const unsubscribe = [
    listener.subscribe('due', hinted(...checks)),
    listener.subscribe('schedule', hinted(...schedules)),
    listener.subscribe('upstream', () => app.breaker.notify()),
    queue.onReconnect(() => schedules[0]?.notify()),
  ]
  return {
    // A map keeps its order, so the first run is the oldest.
    busySince: () => running.values().next().value ?? null,
    stop: async () => {
      for (const end of unsubscribe) end()
      const ticks = [...checks, ...schedules, ...own, ...shared]
      await Promise.all(ticks.map((tick) => tick.stop()))
    },
  }
}

/** Whether a hint to a tick was true is not known. */
function hinted(...ticks: readonly Pick<RunningDueTick, 'notify'>[]): () => void {
  return followHints(async () => {
    for (const tick of ticks) tick.notify()
    return false
  })
}

function dispatchTick(
  app: App,
  queue: Pick<QueueSystem, 'enqueue'>,
  capacity: TickArgs['capacity'],
): DueTick {
  const { db } = app.database
  const budget = app.config.UPSTREAM_REQUESTS_PER_SECOND
  return {
    name: 'dispatch-checks',
    // A check that was recorded since the last run is due again after the minimum interval at the earliest.
    atMostMs: Math.min(10_000, app.config.MIN_RECHECK_SECONDS * 1_000),
    run: async () => {
      const seconds = await correctSetBack(db, budget)
      if (seconds > 0) {
        app.metrics.clockSetBack.inc()
        app.log.warn({ seconds }, 'clock of the database was set back')
      }
      const nextMs = await nextDispatchMs(db)
      if (nextMs === undefined || nextMs > 0) return nextMs
      const paced = pacedRate(budget, await readClosedSeconds(db))
      const rates = await carriedRate(db, paced, capacity.perSecond())
      const minRecheckSeconds = app.config.MIN_RECHECK_SECONDS
      const claimed = await dispatchChecks({
        db,
        queue,
        ...rates,
        budget: presentRate(budget, await readBudgetLimit(db)),
        minRecheckSeconds,
        breaker: app.breaker,
      })
      for (const { lane, fareId } of claimed) {
        app.metrics.budgetSlots.inc({ lane })
        app.calls.count(lane, fareId)
      }
      return nextDispatchMs(db)
    },
  }
}

/**
 * The rate at which slots are reserved, and the limit of one claim. A rate beyond what this process carries is
 * shared by all workers, because their slots follow each other and any of them may run a claim: each counts on the
 * others for as much as itself. Short claims let the rate follow the capacity soon.
 */
async function carriedRate(
  db: Db,
  paced: number,
  perSecond: number,
): Promise<{ requestsPerSecond: number; atMost?: number }> {
  if (paced <= perSecond) return { requestsPerSecond: paced }
  const requestsPerSecond = Math.min(paced, perSecond * (await countCheckers(db)))
  return { requestsPerSecond, atMost: Math.ceil(CLAIM_AHEAD_SECONDS * requestsPerSecond) }
}

/** Also enqueues again what a flushed queue has lost: at the start, when its store reconnects, and every minute. */
function scheduleTick(
  { config, database: { db } }: App,
  queue: Pick<QueueSystem, 'enqueue' | 'counts'>,
): DueTick {
  const deps = { db, queue, schedules: schedulesOf(config), random: Math.random }
  return {
    name: 'schedules',
    atMostMs: MINUTE_MS,
    run: async () => {
      await enqueueLostJobs(deps)
      const nextMs = await nextScheduleMs(db)
      if (nextMs === undefined || nextMs > 0) return nextMs
      await enqueueDueSchedules(deps)
      return nextScheduleMs(db)
    },
  }
}

/** One process at a time ends fares: the guard of a mass of departures must see it whole. */
function departureTick({ config, database: { db }, log, metrics }: App): DueTick {
  const rules = verifyRulesOf(config)
  return {
    name: 'end-departed',
    atMostMs: 10_000,
    run: async (signal) => {
      const nextMs = await nextDepartureMs(db)
      if (nextMs === undefined || nextMs > 0) return nextMs
      await withSessionLock(db, 'end-departed', () =>
        endDeparted({ db, log, metrics, rules }, signal),
      )
      return nextDepartureMs(db)
    },
  }
}

function endTicks({ config, database: { db }, log, metrics }: App): SharedTick[] {
  const rules = verifyRulesOf(config)
  return [
    {
      name: 'expire-fares',
      everyMs: MINUTE_MS,
      run: (signal) => expireFares({ db, log, metrics, rules }, signal),
    },
    {
      name: 'end-watches',
      everyMs: MINUTE_MS,
      run: (signal) => endWatches({ db, log }, signal),
    },
    {
      name: 'settle-incidents',
      everyMs: MINUTE_MS,
      run: () => closeUncheckedIncidents({ db, log }),
    },
  ]
}

/** The upkeep of the tables belongs to the syncs: their processes have the most time. */
function upkeepTicks({ config, database: { db }, log }: App): SharedTick[] {
  return [
    {
      name: 'cancel-analysts',
      everyMs: 15_000,
      run: async () => {
        for (const ended of await endLongSessions(db, config.ANALYST_STATEMENT_SECONDS)) {
          log.warn(ended, 'a statement or session of an analyst was ended')
        }
      },
    },
    {
      name: 'prune',
      everyMs: HOUR_MS,
      run: async (signal) => {
        await pruneSnapshots(db, config.SNAPSHOT_RETENTION_DAYS)
        await pruneMinutes(db, signal)
        await pruneEvidence(db, signal)
        await pruneFares(db, signal)
      },
    },
    { name: 'record-ages', everyMs: MINUTE_MS, run: () => recordBeliefAges(db) },
    { name: 'roll-up-days', everyMs: 10 * MINUTE_MS, run: (signal) => rollUpDays(db, { signal }) },
    {
      name: 'delete-resellers',
      everyMs: MINUTE_MS,
      run: async (signal) => {
        for (const reseller of await deleteMarked(db, { signal })) {
          log.info({ reseller }, 'reseller deleted with all that it had')
        }
      },
    },
  ]
}
