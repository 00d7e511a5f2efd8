import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import { ask, bearer } from '../support/api-server.ts'
import { it, type SharedApi } from './shared-api.ts'

/** A cursor as the list of this name would give it. */
function forged(list: string, bound: unknown, position: unknown): string {
  const body = Buffer.from(JSON.stringify(position)).toString('base64url')
  const sum = createHash('sha256')
    .update(JSON.stringify([list, body, bound]))
    .digest('base64url')
  return `${body}.${sum.slice(0, 12)}`
}

interface Case {
  readonly path: string
  readonly list: string
  readonly bound: unknown
  readonly operator?: true
  readonly good: unknown
  readonly bad: readonly unknown[]
}

const WATCHES = '/watch-lists/summer/watches'
const PAIR = { departureId: 'PMI', destinationId: 'MAD' }
const NUL = ['a\0', '\ud800']
const FAR = [8.64e15, -8.64e15, -1, 1.5, '0000-01-01T00:00:00Z', '2016-12-31T23:59:60Z']
const farRoutes = FAR.map((validFrom) => ({ of: 'existence', validFrom }))

async function casesOf({ base, seed }: SharedApi): Promise<Case[]> {
  const { body } = await ask(`${base}/api/v1${WATCHES}/A-1`, { headers: bearer(seed.keys.alpha) })
  const bound = body.watchId
  return [
    { path: '/watch-lists', list: 'watch-lists', bound: 'alpha', good: 'a', bad: NUL },
    { path: WATCHES, list: 'watches', bound: ['alpha', 'summer'], good: 'a', bad: NUL },
    { path: `${WATCHES}/A-1/timeline`, list: 'watch-timeline', bound, good: 0, bad: FAR },
    { path: `${WATCHES}/A-1/prices`, list: 'watch-prices', bound, good: 0, bad: FAR },
    {
      path: '/routes/PMI/MAD/history',
      list: 'route-history',
      bound: PAIR,
      good: { of: 'existence', validFrom: 0 },
      bad: farRoutes,
    },
    { path: '/places/PMI', list: 'place-history', bound: 'PMI', good: 0, bad: FAR },
    { path: '/resellers', list: 'resellers', bound: null, operator: true, good: 'a', bad: NUL },
  ]
}

describe('a cursor with a correct checksum', () => {
  it('a forged cursor with a NUL or a date that no record has is refused as any forged one', async ({
    api,
  }) => {
    for (const { path, list, bound, operator, good, bad } of await casesOf(api)) {
      const key = operator === true ? api.seed.keys.operator : api.seed.keys.alpha
      const statusOf = async (position: unknown) => {
        const cursor = encodeURIComponent(forged(list, bound, position))
        const url = `${api.base}/api/v1${path}?cursor=${cursor}`
        const { status, body } = await ask(url, { headers: bearer(key) })
        return body.code ?? status
      }
      // Otherwise the others could be refused for their checksum.
      expect(await statusOf(good), path).toBe(200)
      for (const position of bad) {
        expect(await statusOf(position), `${path} ${JSON.stringify(position)}`).toBe(
          'request.invalid_cursor',
        )
      }
    }
  })

  it('a cursor of another reseller is refused, also for lists of the same name', async ({
    api: { base, seed },
  }) => {
    for (const [path, list, bound] of [
      ['/watch-lists', 'watch-lists', 'alpha'],
      ['/watch-lists/winter/watches', 'watches', ['alpha', 'winter']],
    ] as const) {
      const url = `${base}/api/v1${path}?cursor=${forged(list, bound, 'a')}`
      const { body } = await ask(url, { headers: bearer(seed.keys.beta) })
      expect(body.code, path).toBe('request.invalid_cursor')
    }
  })
})
