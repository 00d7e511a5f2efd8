import { endDeparted, nextDepartureMs } from '../fares/end.ts'
import type { WorkRole } from '../platform/base/kinds.ts'
import { type Loop, type RunningLoop, startLoop } from '../platform/base/loop.ts'
import type { Db } from '../platform/db/database.ts'
import { followHints } from '../platform/db/listener.ts'
import { withSessionLock } from '../platform/db/session-lock.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { dispatchChecks, nextDispatchMs, pacedRate, readClosedSeconds } from '../schedule/claim.ts'
import type { ClaimCapacity } from '../schedule/claim-capacity.ts'
import { correctSetBack } from '../schedule/due.ts'
import { presentRate, readBudgetLimit } from '../upstream/budget/budget-limit.ts'
import type { App } from './app.ts'
import { countRuns } from './count-work.ts'
import { schedulerLoop } from './periodic.ts'
import { countCheckers } from './processes.ts'
import { verifyRulesOf } from './settings-for.ts'

/** While the workers carry less than the budget, so much is claimed at a time. */
const CLAIM_AHEAD_SECONDS = 2
/** A run that took longer would fail the liveness check. */
const RUN_LIMIT_MS = 30_000

interface LoopArgs {
  readonly roles: readonly WorkRole[]
  /** Those of the deliveries and of the reports to operators. */
  readonly more: readonly Loop[]
  readonly capacity: Pick<ClaimCapacity, 'perSecond'>
  readonly onRun: () => void
}

interface RunningLoops {
  /** When the oldest run that has not ended began; null if none runs. */
  busySince(): Date | null
  stop(): Promise<void>
}

/** Starts the loops of the roles of this process. `onRun` is called at the end of each run that succeeds. */
export function startLoops(
  app: App,
  queue: QueueSystem,
  { roles, more, capacity, onRun }: LoopArgs,
): RunningLoops {
  const { clock, log, listener } = app
  const running = new Map<string, Date>()
  const start = (loop: Loop): RunningLoop => {
    const run = countRuns(app, { ...loop, everyMs: loop.atMostMs })
    return startLoop(
      {
        ...loop,
        run: async (signal) => {
          running.set(loop.name, clock.now())
          try {
            const limit = AbortSignal.timeout(RUN_LIMIT_MS)
            const dueMs = await run(AbortSignal.any([signal, limit]))
            onRun()
            return dueMs
          } finally {
            running.delete(loop.name)
          }
        },
      },
      { clock, log, random: Math.random },
    )
  }
  const of = (role: WorkRole, loop: () => Loop) => (roles.includes(role) ? [start(loop())] : [])
  const checks = of('check', () => dispatchLoop(app, queue, capacity))
  const schedulers = of('sync', () => schedulerLoop(app, queue))
  const others = [...of('check', () => departureLoop(app)), ...more.map(start)]
  const unsubscribe = [
    listener.subscribe('due', hinted(...checks)),
    listener.subscribe('schedule', hinted(...schedulers)),
    listener.subscribe('upstream', () => app.breaker.notify()),
  ]
  return {
    // A map keeps its order, so the first run is the oldest.
    busySince: () => running.values().next().value ?? null,
    stop: async () => {
      for (const end of unsubscribe) end()
      await Promise.all([...checks, ...schedulers, ...others].map((loop) => loop.stop()))
    },
  }
}

/** Whether a hint to a loop was true is not known. */
function hinted(...loops: readonly Pick<RunningLoop, 'notify'>[]): () => void {
  return followHints(async () => {
    for (const loop of loops) loop.notify()
    return false
  })
}

function dispatchLoop(app: App, queue: QueueSystem, capacity: LoopArgs['capacity']): Loop {
  const { db } = app.database
  const budget = app.config.UPSTREAM_REQUESTS_PER_SECOND
  return {
    name: 'dispatch-checks',
    // A check that was recorded since the last run is due again after the minimum interval at the earliest.
    atMostMs: Math.min(10_000, app.config.MIN_INTERVAL_SECONDS * 1_000),
    run: async () => {
      const seconds = await correctSetBack(db, budget)
      if (seconds > 0) {
        app.metrics.clockSetBack.inc()
        app.log.warn({ seconds }, 'clock of the database was set back')
      }
      const nextMs = await nextDispatchMs(db)
      if (nextMs === undefined || nextMs > 0) return nextMs
      const paced = pacedRate(budget, await readClosedSeconds(db))
      const rates = await carriedRate(db, paced, capacity.perSecond(paced))
      const minRecheckSeconds = app.config.MIN_INTERVAL_SECONDS
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

/** One process at a time ends fares: the guard of a mass of departures must see it whole. */
function departureLoop({ config, database: { db }, log, metrics }: App): Loop {
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
