import { describe, expect } from 'vitest'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import { listLastTicks, shareTick } from '../../../src/platform/ticks/ticks.ts'
import { it } from '../../support/test-database.ts'

const MINUTE_MS = 60_000
const { signal } = new AbortController()

/** The tick of one process, and how often that process has run it. */
function aProcess(db: Db, work: () => Promise<void> = async () => undefined) {
  let runs = 0
  const run = () => {
    runs += 1
    return work()
  }
  const scrub = (text: string) => text.replaceAll('secret', '***')
  const tick = shareTick({ db, scrub }, { name: 'prune', everyMs: MINUTE_MS, run })
  return { run: () => tick.run(signal), runs: () => runs }
}

describe('a tick that one process runs for all', () => {
  it('runs at once when it is new, and then once an interval in one process', async ({ db }) => {
    const [one, two] = [aProcess(db), aProcess(db)]

    const dueMs = await Promise.all([one.run(), two.run(), one.run()])

    expect(one.runs() + two.runs()).toBe(1)
    expect(Math.max(...dueMs.map(Number))).toBeGreaterThan(MINUTE_MS - 10_000)
    expect(Math.max(...dueMs.map(Number))).toBeLessThanOrEqual(MINUTE_MS)
    await sql`update tick set due_at = now()`.execute(db)
    await two.run()
    expect(one.runs() + two.runs()).toBe(2)
  })

  it('runs when its due time was written before the clock was set back', async ({ db }) => {
    const { run, runs } = aProcess(db)
    await run()
    await sql`update tick set due_at = now() + interval '1 hour'`.execute(db)

    await run()

    expect(runs()).toBe(2)
  })

  it('shows how its last run ended, without secrets', async ({ db }) => {
    const failing = aProcess(db, () => Promise.reject(new Error('no secret\u0000 space')))
    expect(await listLastTicks(db)).toEqual([])

    await expect(failing.run()).rejects.toThrow('no secret')

    const [failed] = await listLastTicks(db)
    expect(failed).toMatchObject({ name: 'prune', at: expect.any(Date) })
    expect(failed?.failure).toMatch(/^no \*\*\*.*space$/)
    await sql`update tick set due_at = now()`.execute(db)
    await aProcess(db).run()
    expect(await listLastTicks(db)).toMatchObject([{ name: 'prune', failure: null }])
  })
})
