import { withSessionLock } from '../db/session-lock.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { dispatchChecks } from '../recheck/dispatch-checks-job.ts'
import { nextDispatchMs } from '../recheck/next-dispatch.ts'
import { pacedRate, readTrouble } from '../recheck/paced-rate.ts'
import { repairSetBack } from '../recheck/repair-set-back.ts'
import { enqueueDueSchedules } from '../schedules/enqueue-schedules.ts'
import type { ReconcilerDeps } from '../schedules/reconciler.ts'
import { type DueTick, type RunningDueTick, runWhenDue } from '../schedules/run-when-due.ts'
import { nextScheduleMs } from '../schedules/schedules.ts'
import { endDeparted, nextDepartureMs } from '../verify/expiry/expire-fares-job.ts'
import type { App } from './app.ts'
import { countDueTick } from './count-work.ts'
import { DUE_TICK_AT_MOST_MS } from './queue-state.ts'
import { verifyRulesOf } from './settings-for.ts'

/** At least this often fares are claimed, due or not: a claim counts the schedule and records its time. */
const DISPATCH_EVERY_MS = 60_000

/** A tick that ran longer would fail the liveness check. */
export const TICK_LIMIT_MS = 30_000

/** Starts the ticks that this process runs itself. `onTick` is called at the end of each run that succeeds. */
export function startDueTicks(
  app: App,
  due: ReconcilerDeps,
  { more, onTick }: { readonly more: readonly DueTick[]; readonly onTick: () => void },
): { stop(): Promise<void> } {
  const { clock, log, listener } = app
  const start = (tick: DueTick) =>
    runWhenDue(countDueTick(app, limited(tick), onTick), { clock, log, random: Math.random })
  const dispatch = start(dispatchTick(app, due.queue))
  const others = [scheduleTick(due), departureTick(app), ...more].map(start)
  const unsubscribe = listener.subscribe('due', () => dispatch.notify())
  return {
    stop: async () => {
      unsubscribe()
      await Promise.all([dispatch, ...others].map((tick: RunningDueTick) => tick.stop()))
    },
  }
}

function limited(tick: DueTick): DueTick {
  return {
    ...tick,
    run: (signal) => tick.run(AbortSignal.any([signal, AbortSignal.timeout(TICK_LIMIT_MS)])),
  }
}

function dispatchTick(app: App, queue: Pick<QueueSystem, 'enqueue'>): DueTick {
  const { db } = app.database
  let dispatchedMs = Number.NEGATIVE_INFINITY
  return {
    name: 'dispatch-checks',
    // A check that was recorded since the last run is due again after the minimum interval at the earliest.
    atMostMs: Math.min(
      DUE_TICK_AT_MOST_MS['dispatch-checks'],
      app.config.MIN_RECHECK_SECONDS * 1_000,
    ),
    run: async () => {
      await repairSetBack({ db, metrics: app.metrics, log: app.log })
      const nextMs = await nextDispatchMs(db)
      const isIdle = performance.now() - dispatchedMs < DISPATCH_EVERY_MS
      if (isIdle && (nextMs === undefined || nextMs > 0)) return nextMs
      dispatchedMs = performance.now()
      const budgetPerSecond = app.config.UPSTREAM_REQUESTS_PER_SECOND
      const requestsPerSecond = pacedRate(budgetPerSecond, await readTrouble(db))
      const rates = {
        requestsPerSecond,
        budgetPerSecond,
        minRecheckSeconds: app.config.MIN_RECHECK_SECONDS,
      }
      const claimed = await dispatchChecks({ db, queue, ...rates, breaker: app.breaker })
      for (const { lane, fareId } of claimed) {
        app.metrics.budgetSlots.inc({ lane })
        app.calls.count(lane, fareId)
      }
      return nextDispatchMs(db)
    },
  }
}

function scheduleTick(due: ReconcilerDeps): DueTick {
  return {
    name: 'schedules',
    atMostMs: DUE_TICK_AT_MOST_MS.schedules,
    run: async () => {
      const nextMs = await nextScheduleMs(due.db)
      if (nextMs !== undefined && nextMs <= 0) await enqueueDueSchedules(due)
      return nextMs
    },
  }
}

/** One process at a time ends fares: the guard of a mass of departures must see it whole. */
function departureTick({ config, database: { db }, log, metrics }: App): DueTick {
  const rules = verifyRulesOf(config)
  return {
    name: 'end-departed',
    atMostMs: DUE_TICK_AT_MOST_MS['end-departed'],
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
