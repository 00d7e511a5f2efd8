import { describe, expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { ask, bearer } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { startApiProcess } from './api-process.ts'
import { newCaller, type ResellerCalls } from './reseller-calls.ts'

const IMPORTS = 60
const JSON_BYTES = 1_000_000
const CSV_BYTES = 20_000_000

/** The most rows of an import, as long as the limit of a body. */
function longestImport(): string {
  const rows = Array.from({ length: 5_000 }, (_, i) => ({
    reference: `${i}`,
    flightId: `${101_000_000_000 + i}`,
    returnFlightId: `${102_000_000_000 + i}`,
    passengers: { nonResidents: { adults: 2, children: 1 } },
    priceThresholdAmount: '12.50',
  }))
  const body = JSON.stringify({ watches: rows })
  return body.padEnd(body.length + JSON_BYTES - Buffer.byteLength(body))
}

const EMPTY_OBJECTS = `{"watches":[${Array.from({ length: 333_000 }, () => '{}').join(',')}]}`

/** As long as the limit of a body. */
function longestCsv(): string {
  const rows = Array.from({ length: 5_000 }, (_, i) => `${`${i}`.padEnd(180, '-')},${i},1,2,12.50`)
  const header = 'reference,flight_id,residents_adults,non_residents_adults,price_threshold_amount'
  const text = [header, ...rows].join('\n')
  return text + '\n'.repeat(CSV_BYTES - text.length)
}

const SHORT_ROWS = `reference,flight_id,residents_adults,non_residents_adults\n${'a,1,1,0\n'.repeat(2_400_000)}`

/** Sends the imports at once and returns how often each answer came. */
async function importAtOnce(base: string, callers: readonly ResellerCalls[], body: string) {
  const type = body.startsWith('{') ? 'application/json' : 'text/csv'
  const answers = await Promise.all(
    Array.from({ length: IMPORTS }, async (_, i) => {
      const key = callers[i % callers.length]?.key ?? ''
      const { status, headers } = await ask(`${base}/api/v1/watch-lists/l/watches`, {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': type },
        body,
      })
      return { status, retryAfter: headers.get('retry-after') }
    }),
  )
  const refused = answers.filter(({ status }) => status === 429 || status === 503)
  expect(refused.filter(({ retryAfter }) => retryAfter === null)).toEqual([])
  return answers.map(({ status }) => status)
}

async function anApi({ db, databaseUrl }: { db: Db; databaseUrl: string }, resellers: number) {
  const { api, url } = await startApiProcess(databaseUrl, {
    NODE_OPTIONS: '--max-old-space-size=512',
    API_REQUESTS_PER_SECOND: '1000000',
  })
  const names = Array.from({ length: resellers }, (_, i) => `reseller ${i}`)
  const callers = await Promise.all(names.map((name) => newCaller(db, url.origin, name)))
  await Promise.all(callers.map(({ send }) => send('POST', '/watch-lists', { name: 'l' })))
  return { api, base: url.origin, callers }
}

describe('sixty imports of the largest size at once', () => {
  it.for([
    ['of one key', 1, longestImport(), 200],
    ['of twenty resellers', 20, longestImport(), 200],
    ['of one key, each of 333,000 empty objects,', 1, EMPTY_OBJECTS, 400],
    ['of twenty resellers, as CSV,', 20, longestCsv(), 200],
    ['of twenty resellers, each of 2,400,000 rows of CSV,', 20, SHORT_ROWS, 400],
  ] as const)(
    // Fault: 60 imports of 1 MB of JSON or 20 MB of CSV at once, of one key or of twenty resellers, or 60 bodies of 333,000
    // empty objects.
    'imports %s leave a process with a heap of 512 MB alive, and each is answered',
    async ([, resellers, body, accepted], { db, databaseUrl }) => {
      const { api, base, callers } = await anApi({ db, databaseUrl }, resellers)

      const statuses = await importAtOnce(base, callers, body)

      expect(new Set(statuses)).toSatisfy((found: Set<number>) =>
        found.isSubsetOf(new Set([accepted, 429, 503])),
      )
      expect(statuses).toContain(accepted)
      expect((await callers[0]?.get('/watch-lists'))?.status).toBe(200)
      expect(api.child.exitCode).toBeNull()
    },
  )
})
