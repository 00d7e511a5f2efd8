import { describe, expect } from 'vitest'
import { announceProcess, listProcesses } from '../../src/app/processes.ts'
import { isWithoutProgress } from '../../src/health/limits.ts'
import { processText } from '../../src/health/state-text.ts'
import type { Clock } from '../../src/platform/base/clock.ts'
import { type Database, sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** A clock whose sleeps end when the test says so. */
function steppedClock(aheadMs = 0) {
  let sleep = Promise.withResolvers<void>()
  let asleep = Promise.withResolvers<void>()
  const clock: Clock = {
    now: () => new Date(Date.now() + aheadMs),
    sleep: (_ms, signal) => {
      signal?.addEventListener('abort', () => sleep.resolve())
      asleep.resolve()
      return sleep.promise
    },
  }
  /** Ends the sleep, and waits for the next one. */
  const step = async () => {
    await asleep.promise
    asleep = Promise.withResolvers()
    const ended = sleep
    sleep = Promise.withResolvers()
    ended.resolve()
    await asleep.promise
  }
  return { clock, step }
}

/** Starts the announcement of a process, and waits until it is listed. */
async function announced(
  database: Database,
  role: string,
  fault: () => string | null = () => null,
) {
  const { clock, step } = steppedClock()
  const before = (await listProcesses(database.db)).length
  const own = announceProcess({ database, clock }, { role, fault })
  await until('the row', async () => (await listProcesses(database.db)).length !== before)
  return { ...own, step }
}

async function letPass(database: Database, role: string, seconds: number): Promise<void> {
  await sql`
    update process set last_progress_at = last_progress_at - make_interval(secs => ${seconds}) where role = ${role}
  `.execute(database.db)
}

describe('a running process', () => {
  it('is listed with its role, version, host, start and last progress until it stops', async ({
    database,
  }) => {
    const worker = await announced(database, 'worker')
    const api = await announced(database, 'api')

    const [first, second] = await listProcesses(database.db)
    await worker.close()

    expect([first?.role, second?.role]).toEqual(['worker', 'api'])
    expect(first?.pid).toBe(process.pid)
    expect(first && processText(first, new Date())).toMatch(
      /^worker \d+\.\d+\.\d+ on host \S+ \(pid \d+\) since 20\S+ \S+ UTC \(\d+ s\), progress \d+ s ago$/,
    )
    expect(await listProcesses(database.db)).toMatchObject([{ role: 'api' }])
    await api.close()
  })

  // Fault: One worker of several is killed or hangs. `status` and `doctor` list the processes of all hosts and name the one
  // without progress.
  it('that was killed stays listed until its host starts the same role again', async ({
    database,
  }) => {
    await announced(database, 'api')
    await announced(database, 'worker')
    await letPass(database, 'worker', 300)
    const [, gone] = await listProcesses(database.db)

    const next = announceProcess(
      { database, clock: steppedClock().clock },
      { role: 'worker', fault: () => null },
    )
    await until('the new row in place of the old one', async () => {
      const listed = await listProcesses(database.db)
      return listed.length === 2 && listed.every((one) => !isWithoutProgress(one, new Date()))
    })

    expect(gone && processText(gone, new Date())).toMatch(/progress 5 min ago$/)
    const roles = (await listProcesses(database.db)).map(({ role }) => role)
    expect(roles).toEqual(['api', 'worker'])
    await next.close()
  })
})
