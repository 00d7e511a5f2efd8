import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { FaultRule } from '../../sandbox/faults/fault-rule.ts'
import { openDatabase } from '../../src/platform/db/database.ts'
import { DEFAULT_LIMITS } from '../../src/upstream/transport/http-exchange.ts'
import { TOKEN } from '../sandbox/support.ts'
import { type RunningCommand, startFarewatch } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { deleteValidators, listFacts, syncOnce } from './list-facts.ts'

const MEGABYTE = 1_000_000
/** A job's lock lasts 30 s and is renewed every 15 s. A block of this length does not endanger it. */
const LONGEST_BLOCK_MS = 1_500
/** Measured: 242 MB for the largest list, which is its cap and the overhead of the heap. */
const LIST_MEGABYTES = (2 * DEFAULT_LIMITS.maxBodyBytes) / MEGABYTE
const ANSWER_MEGABYTES = 150
const START_WITHIN_MS = 50_000

/** The sandbox runs in its own process, so its memory and event loop are not measured. */
let sandbox: RunningCommand
let url: string
beforeAll(async () => {
  sandbox = startFarewatch(['sandbox', '--port', '0', '--token', TOKEN, '--speed', '0'], {})
  const announced = () => /"url":"([^"]+)"/.exec(sandbox.stdout())?.[1]
  url = await until('the sandbox', announced, START_WITHIN_MS)
})
afterAll(async () => {
  sandbox.child.kill('SIGKILL')
  await sandbox.ended
})

async function setFault(rule: FaultRule | undefined): Promise<void> {
  const response = await fetch(`${url}/sandbox/faults`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rule === undefined ? [] : [rule]),
  })
  expect(response.status).toBe(200)
}

const residentMegabytes = () => process.memoryUsage().rss / MEGABYTE

/** The largest growth of this process in megabytes, and the longest block of its event loop in milliseconds. */
async function measured(work: () => Promise<unknown>) {
  const delays = monitorEventLoopDelay({ resolution: 5 })
  const before = residentMegabytes()
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, residentMegabytes())
  }, 10)
  delays.enable()
  try {
    await work()
  } finally {
    delays.disable()
    clearInterval(sampling)
  }
  return { grown: Math.max(most, residentMegabytes()) - before, blockedMs: delays.max / 1e6 }
}

const FULL_SIZE: readonly FaultRule[] = [
  { name: 'huge-body', megabytes: 256 },
  { name: 'gzip-bomb', megabytes: 256 },
  { name: 'deep-nesting', levels: 1_000_000 },
  { name: 'many-fields', fields: 1_000_000 },
]

// Fault: Oversized answers: refused, in bounded memory, without a long block of the event loop.
describe('an oversized answer at its full size, under the caps of the product', () => {
  it.for(FULL_SIZE)(
    '$name as a list is refused whole, in bounded memory, without a long block',
    {
      timeout: 60_000,
    },
    async (rule) => {
      const clone = await cloneDatabase()
      const { db, close } = openDatabase({
        url: clone.url,
        applicationName: 'test',
        log: silentLog,
      })
      const { client } = clientOf(url, { accessToken: TOKEN })
      onTestFinished(async () => {
        await client.close()
        await close()
        await clone.drop()
      })
      await setFault(undefined)
      expect((await syncOnce(db, client)).status).toBe('applied')
      const facts = await listFacts(db)
      await deleteValidators(db)
      await setFault(rule)

      let status: unknown
      const { grown, blockedMs } = await measured(async () => {
        status = (await syncOnce(db, client)).status
      })

      expect(status).toBe('rejected')
      expect(grown).toBeLessThan(LIST_MEGABYTES)
      expect(blockedMs).toBeLessThan(LONGEST_BLOCK_MS)
      expect(await listFacts(db)).toEqual(facts)
    },
  )

  it.for(FULL_SIZE)(
    '$name as a verify answer is unknown, in bounded memory, without a long block',
    {
      timeout: 60_000,
    },
    async (rule) => {
      const { client } = clientOf(url, { accessToken: TOKEN })
      onTestFinished(() => client.close())
      await setFault(rule)
      const { signal } = new AbortController()

      let observed: unknown
      const { grown, blockedMs } = await measured(async () => {
        observed = (await client.verifyFares(question(), { signal })).outbound
      })

      expect(observed).toEqual({ kind: 'unknown', reason: 'malformed' })
      expect(grown).toBeLessThan(ANSWER_MEGABYTES)
      expect(blockedMs).toBeLessThan(LONGEST_BLOCK_MS)
    },
  )
})
