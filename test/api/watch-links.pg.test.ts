import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type Answer, ask, PUBLIC_URL, startApi } from '../support/api-server.ts'
import { callsOf, itemsOf } from './reseller-calls.ts'
import { scopedKey } from './seed.ts'
import { it, type SeededDatabase } from './shared-api.ts'

const LINKS = '/watch-lists/summer/watches/A-1/links'

async function startLinked({ db, seed: { keys, alpha } }: SeededDatabase) {
  const base = await startApi(db)
  const [ana, ben] = [callsOf(base, keys.alpha), callsOf(base, keys.beta)]
  const { body: made } = await ana.send('POST', LINKS, {})
  const show = (path = String(made.path)): Promise<Answer> => ask(`${base}${path}`)
  return { db, base, alpha, ana, ben, show, made }
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
    const { ana, show, made } = await startLinked(seeded)
    const another = await ana.send('POST', LINKS, { days: 30 })
    const listed = itemsOf(await ana.get(LINKS))
    expect(listed).toHaveLength(3)
    expect(listed).toContainEqual({ expiresAt: another.body.expiresAt })
    await ana.play([`DELETE ${LINKS}`, undefined, 204], [`GET ${LINKS}`, undefined, { items: [] }])
    const pages = [await show(String(made.path)), await show(String(another.body.path))]
    expect(pages.map(({ status }) => status)).toEqual([404, 404])
  })

  it('is made with the scope of watches, for a watch of the key alone', async ({ seeded }) => {
    const { db, base, alpha, ana, ben, show } = await startLinked(seeded)
    const reader = callsOf(base, await scopedKey(db, alpha, ['read']))
    await ben.play(
      [`POST ${LINKS}`, {}, 404],
      [`GET ${LINKS}`, undefined, 404],
      [`DELETE ${LINKS}`, undefined, 404],
    )
    await reader.play([`POST ${LINKS}`, {}, 403])
    await ana.play([`POST ${LINKS}`, { days: 91 }, 400])
    expect((await show()).status).toBe(200)
  })

  it('is kept as a hash, and an expired one is deleted by the next', async ({ seeded }) => {
    const { db, ana, made } = await startLinked(seeded)
    await sql`update watch_link set expires_at = now()`.execute(db)
    await ana.send('POST', LINKS, {})
    const { rows } = await sql`select watch_link::text as text from watch_link`.execute(db)
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(String(made.code))
  })
})
