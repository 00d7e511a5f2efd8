import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { livePairs, place, routes, sync, syncBody } from './sync-fixtures.ts'

/** A job's lock lasts 30 s and is renewed every 15 s. A block of this length does not endanger it, on a slow machine either. */
const LONGEST_BLOCK_MS = 5_000
const MADRID = place('MAD')

const LISTS = [
  {
    name: '400,000 spellings of one place',
    rows: 400_000,
    departure: (at: number) => place('PMI', { city: `Palma ${at}` }),
    fault: 'element 16 gives a place its spelling number 17',
  },
  {
    name: '600,000 distinct places',
    rows: 600_000,
    departure: (at: number) => place(`P${at}`),
    fault: 'element 99999: there are over 100000 places',
  },
]

describe('a list', () => {
  it.for(LISTS)(
    // Fault: A list gives one place ever new spellings (400,000 rows), or names 600,000 places.
    'with $name is rejected without a long block of the event loop',
    { timeout: 60_000 },
    async ({ rows, departure, fault }, { db }) => {
      await sync(db, routes('PMI-BCN'))
      const elements = Array.from({ length: rows }, (_, at) =>
        JSON.stringify({ departure: departure(at), destination: MADRID }),
      )
      const body = `[${elements.join()}]`
      const delays = monitorEventLoopDelay({ resolution: 5 })
      delays.enable()

      const outcome = await syncBody(db, body)

      delays.disable()
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'upstream.contract_violation', retryable: false },
      })
      expect(outcome.reason?.text).toContain(fault)
      expect(delays.max / 1e6).toBeLessThan(LONGEST_BLOCK_MS)
      expect(await livePairs(db)).toEqual(['PMI-BCN'])
    },
  )
})
