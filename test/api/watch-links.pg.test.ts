import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type Answer, ask, bearer, PUBLIC_URL, startApi } from '../support/api-server.ts'
import { scopedKey } from './seed.ts'
import { it, type SeededDatabase } from './shared-api.ts'

const LINKS = '/api/v1/watch-lists/summer/watches/A-1/links'

async function startLinked({ db, seed }: SeededDatabase) {
  const { keys, alpha } = seed
  const base = await startApi(db)
  const make = (key: string, body: object = {}) =>
    ask(`${base}${LINKS}`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const { body } = await make(keys.alpha)
  const show = (path = String(body.path)): Promise<Answer> => ask(`${base}${path}`)
  return { base, keys, alpha, make, show, made: body }
}

describe('a link to a watch', () => {
  it('shows its history without a key, and names neither the reseller nor the watch', async ({
    seeded,
  }) => {
    const { show, made } = await startLinked(seeded)

    const page = await show()

    expect(made).toMatchObject({ url: `${PUBLIC_URL}${String(made.path)}` })
    const days = (Date.parse(String(made.expiresAt)) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(6.9)
    expect(days).toBeLessThan(7.1)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src/)
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.text).toContain('<meta name="robots" content="noindex">')
    expect(page.text).toContain('PMI → MAD, 2027-01-10 08:00, VY 3900')
    expect(page.text).toContain('<b>bookable, 100.00 EUR</b>')
    expect(page.text).toMatch(/<svg .*class="bookable".*<polyline/)
    expect(page.text).toMatch(/<td>bookable<td>100\.00 EUR/)
    expect(page.text).not.toMatch(/alpha|A-1|summer|<script/)
  })

  it.for([
    ['of another code', async () => '/api/v1/watch-links/another-code'],
    ['that has expired', (db: Db) => sql`update watch_link set expires_at = now()`.execute(db)],
    ['of a deleted watch', (db: Db) => sql`delete from watch where reference = 'A-1'`.execute(db)],
    [
      'of a disabled reseller',
      (db: Db) => sql`update reseller set disabled_at = now() where name = 'alpha'`.execute(db),
    ],
  ] as const)('%s is not found', async ([, end], { seeded }) => {
    const { show } = await startLinked(seeded)

    const path = await end(seeded.db)
    const page = await show(typeof path === 'string' ? path : undefined)

    expect(page).toMatchObject({ status: 404, body: { code: 'not_found', missing: 'watch' } })
  })

  it('is listed while it is good, and revoked with all others of its watch', async ({ seeded }) => {
    const { base, keys, show, make } = await startLinked(seeded)
    const another = await make(keys.alpha, { days: 30 })

    const listed = await ask(`${base}${LINKS}`, { headers: bearer(keys.alpha) })
    const ended = await ask(`${base}${LINKS}`, { method: 'DELETE', headers: bearer(keys.alpha) })
    const after = await ask(`${base}${LINKS}`, { headers: bearer(keys.alpha) })

    expect(listed.body.items).toHaveLength(3)
    expect(listed.body.items).toContainEqual({ expiresAt: another.body.expiresAt })
    expect(ended.status).toBe(204)
    expect(after.body.items).toEqual([])
    expect((await show()).status).toBe(404)
    expect((await show(String(another.body.path))).status).toBe(404)
  })

  it('is made with the scope of watches, for a watch of the key alone', async ({ seeded }) => {
    const { db } = seeded
    const { base, keys, alpha, make, show } = await startLinked(seeded)

    expect((await make(keys.beta)).status).toBe(404)
    for (const method of ['GET', 'DELETE']) {
      const other = await ask(`${base}${LINKS}`, { method, headers: bearer(keys.beta) })
      expect(other.status).toBe(404)
    }
    expect((await make(await scopedKey(db, alpha, ['read']))).status).toBe(403)
    expect((await make(keys.alpha, { days: 91 })).status).toBe(400)
    expect((await show()).status).toBe(200)
  })

  it('is kept as a hash, and an expired one is deleted by the next', async ({ seeded }) => {
    const { db } = seeded
    const { keys, make, made } = await startLinked(seeded)
    await sql`update watch_link set expires_at = now()`.execute(db)

    await make(keys.alpha)

    const { rows } = await sql<{
      text: string
    }>`select watch_link::text as text from watch_link`.execute(db)
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(String(made.code))
  })
})
