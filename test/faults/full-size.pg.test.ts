import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import type { FaultRule } from '../../src/sandbox/faults/fault-rule.ts'
import { DEFAULT_LIMITS } from '../../src/upstream/upstream-limits.ts'
import { TOKEN } from '../sandbox/support.ts'
import { type RunningCommand, startFarewatch } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { forgetValidators, listFacts, syncOnce } from './list-facts.ts'

const MEGABYTE = 1_000_000
/** A job's lock lasts 30 s and is renewed at half of it: a block of a tenth of that leaves it far from being lost. */
const LONGEST_BLOCK_MS = 1_500
/** Measured: 242 of the largest, which is its cap and what a heap takes for itself. */
const LIST_MEGABYTES = (2 * DEFAULT_LIMITS.maxBodyBytes) / MEGABYTE
const ANSWER_MEGABYTES = 150
const START_WITHIN_MS = 50_000

/** In a process of its own: its memory and its event loop are not ours. */
let sandbox: RunningCommand
let url: string
beforeAll(async () => {
  sandbox = startFarewatch(['sandbox', '--port', '0', '--token', TOKEN, '--speed', '0'], {})
  const told = () => /"url":"([^"]+)"/.exec(sandbox.stdout())?.[1]
  url = await until('the sandbox', told, START_WITHIN_MS)
})
afterAll(async () => {
  sandbox.child.kill('SIGKILL')
  await sandbox.ended
})

async function spoil(rule: FaultRule | undefined): Promise<void> {
  const response = await fetch(`${url}/sandbox/faults`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rule === undefined ? [] : [rule]),
  })
  expect(response.status).toBe(200)
}

const residentMegabytes = () => process.memoryUsage().rss / MEGABYTE

/** By how many megabytes this process grew at most, and how long its event loop was blocked at most, in milliseconds. */
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

describe('too much, at its full size and under the caps of the product', () => {
  it.for(FULL_SIZE)(
    '$name of a list: refused whole, in bounded memory, without a long block',
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
      await spoil(undefined)
      expect((await syncOnce(db, client)).status).toBe('applied')
      const facts = await listFacts(db)
      await forgetValidators(db)
      await spoil(rule)

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
    '$name of a verify answer: tells nothing, and costs as little',
    {
      timeout: 60_000,
    },
    async (rule) => {
      const { client } = clientOf(url, { accessToken: TOKEN })
      onTestFinished(() => client.close())
      await spoil(rule)
      const { signal } = new AbortController()

      let said: unknown
      const { grown, blockedMs } = await measured(async () => {
        said = (await client.verifyFares(question(), { signal })).outbound
      })

      expect(said).toEqual({ kind: 'unknown', reason: 'malformed' })
      expect(grown).toBeLessThan(ANSWER_MEGABYTES)
      expect(blockedMs).toBeLessThan(LONGEST_BLOCK_MS)
    },
  )
})
