import { messageOf } from '../base/errors.ts'
import { TimeoutError } from '../base/timeout.ts'
import { readFeedGauges } from '../changes/feed-gauges.ts'
import type { Db } from '../db/database.ts'
import { type LeadershipTimings, seekLeadership } from '../db/leadership.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { readRecheckGauges } from '../recheck/recheck-gauges.ts'
import { readSyncGauges } from '../route-sync/read/sync-state.ts'
import { readScheduleGauges } from '../schedules/schedules.ts'
import { setHealthGauges } from '../upstream/upstream-metrics.ts'
import { readFareGauges } from '../verify/read/fare-gauges.ts'
import type { App } from './app.ts'
import { withinCheck } from './deadline.ts'
import { readQueueGauges } from './queue-gauges.ts'
import { readIntervalGauges } from './schedules-of.ts'

/** The gauges of the whole system, which one process at a time reads and shows. */
export interface SystemGauges {
  /** Brings them up to date; false where they are another process's to show, or cannot be read. Never rejects. */
  refresh(): Promise<boolean>
  /** Lets another process show them. */
  close(): Promise<void>
}

export interface SystemGaugesDeps {
  readonly app: App
  readonly queue: Pick<QueueSystem, 'counts'>
  readonly timings?: LeadershipTimings
}

/** Of a million fares a reading takes a second: it may take a twentieth of the database's time, no more. */
const REST_FACTOR = 20

/** Seeks the lead of all processes on this database, and reads the gauges while it has it. */
export function createSystemGauges({ app, queue, timings }: SystemGaugesDeps): SystemGauges {
  const { config, log, clock, metrics } = app
  readIntervalGauges(config, metrics, clock.now())
  const leadership = seekLeadership({
    url: config.DATABASE_URL,
    name: 'system-gauges',
    applicationName: 'farewatch gauges',
    log,
    clock,
    ...(timings === undefined ? {} : { timings }),
  })
  const reader = createReader(async () => {
    const session = await leadership.session()
    if (session === undefined) throw new Error('another process leads')
    await readGauges(app, session, queue)
  })
  return {
    async refresh() {
      try {
        const leads = (await withinCheck(leadership.session())) !== undefined
        metrics.leader.set(leads ? 1 : 0)
        if (leads) return await reader.refresh()
        reader.forget()
        return false
      } catch (err) {
        metrics.leader.set(0)
        reader.forget()
        log.warn({ reason: messageOf(err) }, 'gauges of the whole system could not be read')
        return false
      }
    },
    close: () => leadership.close(),
  }
}

async function readGauges(
  { config, metrics }: App,
  session: Db,
  queue: Pick<QueueSystem, 'counts'>,
): Promise<void> {
  await readSyncGauges(session, metrics)
  await readScheduleGauges(session, metrics)
  await setHealthGauges(session, metrics)
  await readRecheckGauges(session, metrics, config.UPSTREAM_REQUESTS_PER_SECOND)
  await readFareGauges(session, metrics)
  await readFeedGauges(session, metrics)
  await readQueueGauges(queue, metrics)
}

interface Reader {
  /** Reads, where it is time to; true where there is a reading to show. Rejects as the reading does. */
  refresh(): Promise<boolean>
  /** What was read is another's to tell now. */
  forget(): void
}

/**
 * Reads anew when it has rested for as long as its last reading was dear; until then what is known is new enough. A
 * reading that takes longer than a scrape waits goes on, and the one before it is shown meanwhile.
 */
function createReader(read: () => Promise<void>): Reader {
  let reading: Promise<void> | undefined
  let restsUntilMs = 0
  let hasRead = false
  const run = async () => {
    const startedMs = performance.now()
    await read()
    const endedMs = performance.now()
    restsUntilMs = endedMs + REST_FACTOR * (endedMs - startedMs)
    hasRead = true
  }
  return {
    async refresh() {
      if (reading === undefined && performance.now() < restsUntilMs) return hasRead
      reading ??= run().finally(() => {
        reading = undefined
      })
      try {
        await withinCheck(reading)
      } catch (err) {
        if (!(err instanceof TimeoutError && hasRead)) throw err
      }
      return hasRead
    },
    forget() {
      hasRead = false
      restsUntilMs = 0
    },
  }
}
