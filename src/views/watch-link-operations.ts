import { randomBytes } from 'node:crypto'
import { type Static, Type } from 'typebox'
import type { Clock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { logOperation, operations } from '../platform/http/operation.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, object, orNull } from '../platform/http/schemas.ts'
import { hashOf } from '../resellers/api-keys.ts'
import { WatchParams } from '../watches/operations/watch-operations.ts'
import { readWatchTimeline } from './watch-history-operations.ts'
import { endedPage, watchPage } from './watch-page.ts'
import { showNamed } from './watch-states.ts'
import { requireWatch, type WatchViewDeps } from './watch-view-operations.ts'

interface LinkDeps extends WatchViewDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly publicUrl?: string | undefined
}

const { open, reseller } = operations<LinkDeps>()

const TAG = 'Watches'
const PATH = '/api/v1/watch-lists/{list}/watches/{reference}/links'
const A_1 = { list: 'summer', reference: 'A-1' }
const MAX_DAYS = 90
const PRESET_DAYS = 7
/** 144 bits: too many to guess. */
const CODE_BYTES = 18
/** The latest intervals that a page shows. */
const SHOWN_INTERVALS = 200
export const EXAMPLE_LINK = 'q0rT1e9kq4yGd2cBmXQ3wYxv'

const common = { path: PATH, tag: TAG, params: WatchParams, problems: ['not_found'] } as const

const Link = object({ expiresAt: Instant }, { title: 'OpenWatchLink' })

const create = reseller({
  ...common,
  id: 'createWatchLink',
  method: 'POST',
  summary: 'Make a link that shows a watch to people without a key',
  description:
    'The page has the flights, what is believed and was believed since the watch began, and the prices, as a picture and a ' +
    'table. It names neither you nor the watch, and changes nothing.',
  scope: 'watch',
  body: object({
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_DAYS,
        description: `How long the link is good. Default: ${PRESET_DAYS}.`,
      }),
    ),
  }),
  answer: {
    about: 'The link, whose code appears nowhere else.',
    status: 201,
    location: '/api/v1/watch-links/{code}',
    schema: object(
      {
        code: Type.String(),
        path: Type.String({ description: 'Behind the address of this farewatch.' }),
        url: orNull(Type.String(), 'The whole link. Null if the operator has set no PUBLIC_URL.'),
        expiresAt: Instant,
      },
      { title: 'WatchLink' },
    ),
  },
  example: { params: A_1, body: { days: 30 } },
  handler: async (
    { db, publicUrl, resellerId, log },
    { params, body: { days = PRESET_DAYS }, caller, request },
  ) => {
    const { id, entry } = await requireWatch(db, resellerId, params)
    if (entry.question === null) {
      throw new ProblemError('not_found', { missing: 'fare', detail: 'the watch is of a route' })
    }
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const { expiresAt } = await selectOne(
      sql<Static<typeof Link>>`
        with expired as (delete from watch_link where expires_at <= clock_timestamp())
        insert into watch_link (hash, watch_id, expires_at)
        values (${hashOf(code)}, ${id}, clock_timestamp() + make_interval(days => ${days}))
        returning expires_at as "expiresAt"
      `,
      db,
    )
    logOperation(log, { caller, request }, { event: 'a link to a watch was made' })
    const path = `/api/v1/watch-links/${code}`
    const url = publicUrl === undefined ? null : `${publicUrl.replace(/\/$/, '')}${path}`
    return { code, path, url, expiresAt }
  },
})

const listOpen = reseller({
  ...common,
  id: 'listWatchLinks',
  method: 'GET',
  summary: 'List the links to a watch that are good',
  scope: 'read',
  answer: {
    about: 'When each expires, the first one first.',
    schema: object({ items: Type.Array(Link) }),
  },
  example: { params: A_1 },
  handler: async ({ db, resellerId }, { params }) => {
    const { id } = await requireWatch(db, resellerId, params)
    const { rows: items } = await sql<Static<typeof Link>>`
      select expires_at as "expiresAt"
        from watch_link
       where watch_id = ${id} and expires_at > clock_timestamp()
       order by expires_at
    `.execute(db)
    return { items }
  },
})

const revoke = reseller({
  ...common,
  id: 'revokeWatchLinks',
  method: 'DELETE',
  summary: 'Revoke all links to a watch',
  scope: 'watch',
  answer: { about: 'There is no link to it.', status: 204 },
  example: { params: A_1 },
  handler: async ({ db, resellerId, log }, { params, caller, request }) => {
    const { id } = await requireWatch(db, resellerId, params)
    await sql`delete from watch_link where watch_id = ${id}`.execute(db)
    logOperation(log, { caller, request }, { event: 'the links to a watch were revoked' })
  },
})

/** The page runs no script and loads nothing. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

const read = open({
  id: 'readWatchLink',
  method: 'GET',
  path: '/api/v1/watch-links/{code}',
  tag: TAG,
  summary: 'Read the page of a watch by a link',
  description:
    'The code of the link is the key: it expires, and its reseller may revoke it. A browser then gets a page that says so, with status 404.',
  scope: 'read',
  params: object({
    code: Type.String({ minLength: 1, maxLength: 100, description: 'The code of the link.' }),
  }),
  answer: { about: 'The page, without scripts.', type: 'text/html; charset=utf-8' },
  problems: ['not_found'],
  example: { params: { code: EXAMPLE_LINK } },
  handler: async (deps, { params: { code }, request, reply }) => {
    const page = await readPage(deps, code)
    const isBrowser = request.headers.accept?.includes('text/html') === true
    if (page === undefined && !isBrowser) throw new ProblemError('not_found', { missing: 'watch' })
    reply.code(page === undefined ? 404 : 200)
    reply.header('content-security-policy', POLICY).type('text/html; charset=utf-8')
    return reply.send(page ?? endedPage())
  },
})

/** The links to a watch. */
export const WATCH_LINK_OPERATIONS = [create, listOpen, revoke, read]

/** Undefined if there is no such link any more. */
async function readPage(
  { db, clock, minRecheckSeconds }: LinkDeps,
  code: string,
): Promise<string | undefined> {
  const found = await findLinked(db, hashOf(code))
  if (found === undefined) return undefined
  const { watchId, resellerId } = found
  const [shown] = await showNamed(db, { resellerId, minRecheckSeconds }, found)
  if (shown === undefined) return undefined
  const page = { watchId, limit: SHOWN_INTERVALS, onlyBookable: false }
  const intervals = await readWatchTimeline(db, resellerId, page)
  return watchPage(shown, intervals, clock.now())
}

interface Linked {
  readonly watchId: string
  /** The code of the link stands for a key of the reseller, to this watch alone. */
  readonly resellerId: ResellerId
  readonly list: string
  readonly references: readonly string[]
}

/** A disabled reseller shows nothing. */
async function findLinked(db: Db, hash: Buffer): Promise<Linked | undefined> {
  const { rows } = await sql<Linked>`
    select w.id as "watchId", w.reseller_id as "resellerId", l.name as list, array[w.reference] as references
      from watch_link k
      join watch w on w.id = k.watch_id
      join watch_list l on l.id = w.watch_list_id
      join reseller r on r.id = w.reseller_id
     where k.hash = ${hash} and k.expires_at > clock_timestamp() and r.disabled_at is null
  `.execute(db)
  return rows[0]
}
