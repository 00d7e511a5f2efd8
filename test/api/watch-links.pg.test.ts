import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type Answer, ask, bearer, PUBLIC_URL, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { listWith, newCaller } from './reseller-calls.ts'
import { scopedKey, seedApi } from './seed.ts'

const LINKS = '/api/v1/watch-lists/summer/watches/A-1/links'

async function startLinked(db: Db) {
  const { keys, alpha } = await seedApi(db)
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
    db,
  }) => {
    const { show, made } = await startLinked(db)

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
  ] as const)('%s is not found', async ([, end], { db }) => {
    const { show } = await startLinked(db)

    const path = await end(db)
    const page = await show(typeof path === 'string' ? path : undefined)

    expect(page).toMatchObject({ status: 404, body: { code: 'not_found', missing: 'watch' } })
  })

  it('that has expired shows a browser a page that says so, and no more than one that never was', async ({
    db,
  }) => {
    const { base, made } = await startLinked(db)
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    await sql`update watch_link set expires_at = now()`.execute(db)

    const ended = await ask(`${base}${String(made.path)}`, { headers })
    const never = await ask(`${base}/api/v1/watch-links/another-code`, { headers })

    expect(ended.status).toBe(404)
    expect(ended.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(ended.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src/)
    expect(ended.text).toContain('<h1>This link shows nothing any more</h1>')
    expect([never.status, never.text]).toEqual([404, ended.text])
  })

  it('is listed while it is good, and revoked with all others of its watch', async ({ db }) => {
    const { base, keys, show, make } = await startLinked(db)
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

  it('is made with the scope of watches, for a watch of the key alone', async ({ db }) => {
    const { base, keys, alpha, make, show } = await startLinked(db)

    expect((await make(keys.beta)).status).toBe(404)
    for (const method of ['GET', 'DELETE']) {
      const other = await ask(`${base}${LINKS}`, { method, headers: bearer(keys.beta) })
      expect(other.status).toBe(404)
    }
    expect((await make(await scopedKey(db, alpha, ['read']))).status).toBe(403)
    expect((await make(keys.alpha, { days: 91 })).status).toBe(400)
    expect((await show()).status).toBe(200)
  })

  it('opens nothing but its page, and there is none of a watch of a route', async ({ db }) => {
    const { base, made } = await startLinked(db)
    const calls = await newCaller(db, base, 'northwind')
    const route = { departure: 'PMI', destination: 'MAD' }
    await listWith(calls, 'summer', [{ reference: 'A-1', route }])

    const code = String(made.code)
    const asKey = await ask(`${base}/api/v1/watch-lists`, { headers: bearer(code) })
    const below = await ask(`${base}${String(made.path)}/timeline`)
    const ofRoute = await calls.send('POST', LINKS.replace('/api/v1', ''), {})

    expect(asKey.status).toBe(401)
    expect(below.status).toBe(404)
    expect(ofRoute).toMatchObject({ status: 404, body: { missing: 'fare' } })
  })

  it('is kept as a hash, and an expired one is deleted by the next', async ({ db }) => {
    const { keys, make, made } = await startLinked(db)
    await sql`update watch_link set expires_at = now()`.execute(db)

    await make(keys.alpha)

    const { rows } = await sql<{
      text: string
    }>`select watch_link::text as text from watch_link`.execute(db)
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(String(made.code))
  })
})
