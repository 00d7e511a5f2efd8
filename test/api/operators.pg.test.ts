import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { withSessionLock } from '../../src/platform/db/session-lock.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { runOf } from '../routes/held-fixtures.ts'
import { changes, livePairs, manyRoutes, routes, sync } from '../routes/sync-fixtures.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { collectLog } from '../support/collected-log.ts'
import { it } from '../support/test-database.ts'
import { manyCells, newReseller, resellerWith } from '../watches/watch-fixtures.ts'

const ALL = manyRoutes(40)
const FEW = ALL.slice(0, 10)

/** The API, called by an operator, and the lines that it logs. */
async function anOperator(db: Db) {
  const { log, lines } = collectLog()
  const base = await startApi(db, { log })
  const key = await newKeyText(db)
  const send = (method: string, path: string, body?: object): Promise<Answer> =>
    ask(`${base}/api/v1/${path}`, {
      method,
      headers: { ...bearer(key), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const as = (other: string, path: string) =>
    ask(`${base}/api/v1/${path}`, { headers: bearer(other) })
  return { send, as, lines }
}

function logged(lines: readonly string[]): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

it('what answers have that the interface does not have is listed, accepted and taken back, and logged', async ({
  db,
}) => {
  await sql`insert into answer_habit (name, answers, share) values ('message', 57, 0.25)`.execute(
    db,
  )
  const { send, lines } = await anOperator(db)
  const unusual = async () =>
    (await send('GET', 'status')).body as { unusualAnswers: unknown[]; warnings: unknown[] }

  expect((await unusual()).unusualAnswers).toMatchObject([{ name: 'message', answers: 57 }])
  expect((await unusual()).warnings).toContainEqual(
    expect.objectContaining({
      code: 'answers_unusual',
      subject: 'message',
      text: '57 answers had "message", which the interface does not have: they count for no loss.',
    }),
  )
  const accepted = await send('PATCH', 'answer-habits/message', { accepted: true })
  expect(accepted.body).toMatchObject({ name: 'message', isUsual: true })
  expect((await unusual()).unusualAnswers).toEqual([])
  await send('PATCH', 'answer-habits/message', { accepted: false })

  const { body } = await send('GET', 'answer-habits')
  expect(body.items).toMatchObject([{ name: 'message', isUsual: false, acceptedAt: null }])
  const events = logged(lines).map(({ msg, name }) => [msg, name])
  expect(events).toEqual([
    ['answers accepted', 'message'],
    ['acceptance of answers taken back', 'message'],
  ])
})

describe('held runs', () => {
  it('the one held run of each list is listed, with how many lists agree', async ({ db }) => {
    await sync(db, ALL)
    for (const list of [FEW, [], FEW]) await sync(db, list)
    const held = await sync(db, FEW)
    const { send } = await anOperator(db)

    const { body } = await send('GET', 'held-runs')

    expect(body.items).toMatchObject([{ runId: held.runId, status: 'held', lists: 2 }])
  })

  it('reviewing a held run changes nothing', async ({ db }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, FEW)
    const { send } = await anOperator(db)

    const { body } = await send('GET', `held-runs/${runId}`)

    expect(body).toMatchObject({
      run: { runId, status: 'held', lists: 1, rejectedAt: null },
      isLikelyReal: false,
      plan: {
        liveBefore: 40,
        missing: 30,
        forecast: { live: 10, removed: 30 },
        verdict: { code: 'mass_absence' },
      },
    })
    expect(await livePairs(db)).toHaveLength(40)
  })

  it('the difference of a held run has every route that approving it would change', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN', 'MAD-BCN'))
    const held = await sync(db, routes('PMI-IBZ'), { guard: { ...GUARD_LIMITS, minimum: 1 } })
    const { send } = await anOperator(db)

    const { body } = await send('GET', `held-runs/${held.runId}/difference`)

    expect(held.status).toBe('held')
    expect(body).toEqual({
      missing: { MAD: ['BCN'], PMI: ['BCN', 'MAD'] },
      added: { PMI: ['IBZ'] },
    })
  })

  it('a held run is approved once, and the log names the key', async ({ db }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, FEW)
    const { send, lines } = await anOperator(db)

    const approved = await send('POST', `held-runs/${runId}/approve`)
    const again = await send('POST', `held-runs/${runId}/approve`)

    expect(approved.body).toMatchObject({ runId, status: 'approved', live: 10, removed: 30 })
    expect(await livePairs(db)).toHaveLength(10)
    expect(again.body).toMatchObject({ status: 409, code: 'sync.not_held' })
    expect(logged(lines)).toEqual([
      expect.objectContaining({
        msg: 'held run approved',
        runId,
        by: 'key 1',
        requestId: approved.headers.get('x-request-id'),
      }),
    ])
  })

  it('rejecting a held run drops it and changes nothing else', async ({ db }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, FEW)
    const other = await sync(db, ALL.slice(0, 20), { list: 'with-availability' })
    const { send } = await anOperator(db)

    const { body } = await send('POST', `held-runs/${runId}/reject`)

    expect(body).toEqual({ dropped: [runId] })
    expect(await runOf(db, runId)).toMatchObject({ resolution: 'rejected' })
    expect(await runOf(db, other.runId)).toMatchObject({ status: 'applied' })
    expect(await livePairs(db)).toHaveLength(40)
    expect(await changes(db)).toEqual([])
  })

  it('a run that does not exist or is not held can neither be read, approved nor rejected', async ({
    db,
  }) => {
    await sync(db, ALL)
    const { send } = await anOperator(db)

    for (const [method, path, runId, status, code] of [
      ['GET', '', 99, 404, 'not_found'],
      ['POST', '/approve', 99, 404, 'not_found'],
      ['POST', '/reject', 99, 404, 'not_found'],
      ['GET', '', 1, 409, 'sync.not_held'],
      ['POST', '/reject', 1, 409, 'sync.not_held'],
    ] as const) {
      const { body } = await send(method, `held-runs/${runId}${path}`)

      expect(body, `${method} ${runId}${path}`).toMatchObject({ status, code })
    }
  })

  it('a run whose list is no longer stored cannot be approved', async ({ db }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, FEW)
    const { send } = await anOperator(db)

    await sql`delete from snapshot`.execute(db)
    const gone = await send('POST', `held-runs/${runId}/approve`)

    expect(gone.body).toMatchObject({ status: 409, code: 'sync.snapshot_gone' })
    expect(await runOf(db, runId)).toMatchObject({ status: 'held' })
  })

  it('a decision during a running sync waits briefly and then answers sync.busy', async ({
    db,
  }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, FEW)
    const { send } = await anOperator(db)

    const answer = await withSessionLock(db, 'route-sync:routes', () =>
      send('POST', `held-runs/${runId}/approve`),
    )

    expect(answer?.body).toMatchObject({ status: 503, code: 'sync.busy' })
    expect(answer?.headers.get('retry-after')).toBe('10')
    expect((await send('POST', `held-runs/${runId}/approve`)).status).toBe(200)
  })
})

describe('resellers', () => {
  it('resellers are created, listed by name, and disabled', async ({ db }) => {
    await resellerWith(db, manyCells(3), 'zephyr')
    const { send } = await anOperator(db)

    const created = await send('POST', 'resellers', { name: 'Aurora & Söhne' })
    const first = await send('GET', 'resellers?limit=1')
    const second = await send('GET', `resellers?limit=1&cursor=${String(first.body.next)}`)
    const disabled = await send('POST', 'resellers/zephyr/disable')
    const encoded = await send('POST', `resellers/${encodeURIComponent('Aurora & Söhne')}/disable`)

    expect(created).toMatchObject({
      status: 201,
      body: { name: 'Aurora & Söhne', disabledAt: null },
    })
    expect(first.body.items).toMatchObject([{ name: 'Aurora & Söhne', lists: 0, watches: 0 }])
    expect(second.body).toMatchObject({
      items: [{ name: 'zephyr', lists: 1, watches: 3, active: 3 }],
      next: null,
    })
    expect(disabled.body).toMatchObject({ name: 'zephyr', trackedFaresEnded: 3 })
    expect(disabled.body.disabledAt).not.toBeNull()
    expect(encoded.body).toMatchObject({ trackedFaresEnded: 0 })
  })

  it('an operator sets the share of a reseller, which is 1 before', async ({ db }) => {
    await newReseller(db, 'zephyr')
    const { send, lines } = await anOperator(db)
    const shareOf = async () => (await send('GET', 'resellers')).body.items
    const before = await shareOf()

    const changed = await send('PATCH', 'resellers/zephyr', { share: 2.5 })

    expect(before).toMatchObject([{ name: 'zephyr', share: 1 }])
    expect(changed).toMatchObject({ status: 200, body: { name: 'zephyr', share: 2.5 } })
    expect(await shareOf()).toMatchObject([{ name: 'zephyr', share: 2.5 }])
    expect(logged(lines)).toContainEqual(
      expect.objectContaining({ msg: 'reseller changed', reseller: 'zephyr', share: 2.5 }),
    )
    for (const share of [0, -1, 0.009, 1_001, 1e300, '2', null]) {
      expect(await send('PATCH', 'resellers/zephyr', { share })).toMatchObject({
        status: 400,
        body: { code: 'request.invalid_body', pointer: '/share' },
      })
    }
    expect(await send('PATCH', 'resellers/nobody', { share: 2 })).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
    expect(await shareOf()).toMatchObject([{ share: 2.5 }])
  })

  it('a name that is taken, cannot be typed or is unknown is refused', async ({ db }) => {
    await newReseller(db, 'zephyr')
    const { send } = await anOperator(db)

    for (const [path, sent, status, code] of [
      ['resellers', { name: 'zephyr' }, 409, 'resellers.duplicate'],
      ['resellers', { name: ' zephyr' }, 400, 'resellers.invalid_name'],
      ['resellers', { name: 'a\nb' }, 400, 'resellers.invalid_name'],
      ['resellers', { name: '..' }, 400, 'resellers.invalid_name'],
      ['resellers', { name: '' }, 400, 'request.invalid_body'],
      ['resellers', { name: 'x', key: 'y' }, 400, 'request.invalid_body'],
      ['resellers/nobody/disable', undefined, 404, 'not_found'],
      ['resellers/Zephyr/disable', undefined, 404, 'not_found'],
    ] as const) {
      const { body } = await send('POST', path, sent)

      expect(body, JSON.stringify(sent)).toMatchObject({ status, code })
    }
  })
})

describe('keys', () => {
  it('keys are created, shown once, listed by prefix, and revoked', async ({ db }) => {
    await newReseller(db, 'zephyr')
    const { send, as, lines } = await anOperator(db)

    const made = await send('POST', 'keys', { reseller: 'zephyr', scopes: ['read'] })
    const { id, key: text } = made.body as { id: number; key: string }
    const works = await as(text, 'status')
    const list = await send('GET', 'keys')
    const revoked = await send('POST', `keys/${id}/revoke`)

    expect(made).toMatchObject({ status: 201, body: { reseller: 'zephyr', scopes: ['read'] } })
    expect(text).toMatch(/^fwk_[0-9A-Za-z]{36}$/)
    expect(works.status).toBe(200)
    expect(list.body.items).toMatchObject([
      { reseller: null, scopes: ['read', 'operate'] },
      { id, prefix: text.slice(0, 12), revokedAt: null },
    ])
    expect(revoked.body).toMatchObject({ id })
    expect(revoked.body.revokedAt).not.toBeNull()
    for (const reported of [list.text, revoked.text, ...lines]) expect(reported).not.toContain(text)
    expect(logged(lines).map(({ msg }) => msg)).toEqual(['key created', 'key revoked'])
  })

  it('a key may have an expiry', async ({ db }) => {
    const { send } = await anOperator(db)

    const made = await send('POST', 'keys', {
      reseller: null,
      expiresAt: '2100-01-01T00:00:00+01:00',
    })

    expect(made.body).toMatchObject({ expiresAt: '2099-12-31T23:00:00.000Z' })
  })

  it('a key with a wrong reseller, scope or expiry is not created', async ({ db }) => {
    await newReseller(db, 'zephyr')
    const { send } = await anOperator(db)

    for (const [body, status, code, pointer] of [
      [{}, 400, 'request.invalid_body', '/reseller'],
      [{ reseller: 'nobody' }, 404, 'not_found', undefined],
      [{ reseller: null, scopes: ['watch'] }, 400, 'access.scope_not_grantable', undefined],
      [{ reseller: 'zephyr', scopes: ['operate'] }, 400, 'access.scope_not_grantable', undefined],
      [{ reseller: null, scopes: [] }, 400, 'request.invalid_body', '/scopes'],
      [
        { reseller: null, expiresAt: '2020-01-01T00:00:00Z' },
        400,
        'request.invalid_body',
        '/expiresAt',
      ],
      [{ reseller: null, expiresAt: 'soon' }, 400, 'request.invalid_body', '/expiresAt'],
      // In UTC it lies in the year 10000, which a date-time cannot express.
      [
        { reseller: null, expiresAt: '9999-12-31T23:59:59-23:59' },
        400,
        'request.invalid_body',
        '/expiresAt',
      ],
    ] as const) {
      const answer = await send('POST', 'keys', body)

      expect(answer.body, JSON.stringify(body)).toMatchObject({ status, code })
      expect(answer.body.pointer).toBe(pointer)
    }
    expect((await send('GET', 'keys')).body.items).toHaveLength(1)
  })

  it('an unknown key cannot be revoked', async ({ db }) => {
    const { send } = await anOperator(db)

    expect((await send('POST', 'keys/99/revoke')).body).toMatchObject({
      status: 404,
      code: 'not_found',
    })
  })
})

describe('incidents', () => {
  it('incidents are listed newest first, and can be filtered by open', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    await sql`
      insert into incident (kind, closed_at)
      values ('mass_loss', clock_timestamp()), ('mass_price_change', clock_timestamp()), ('mass_loss', null)
    `.execute(db)
    const { send } = await anOperator(db)
    const ids = async (query: string) =>
      ((await send('GET', `incidents?${query}`)).body.items as { id: number }[]).map(({ id }) => id)

    const first = await send('GET', 'incidents?limit=2')

    expect(first.body.items).toMatchObject([
      { id: 3, kind: 'mass_loss', closedAt: null },
      { id: 2 },
    ])
    expect(await ids(`limit=2&cursor=${String(first.body.next)}`)).toEqual([1])
    expect(await ids('open=true')).toEqual([3])
    expect(await ids('open=false')).toEqual([2, 1])
  })
})
