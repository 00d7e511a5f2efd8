import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { type Db, PREPARED, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import { shareInSql } from '../budget/budget-store.ts'
import { isPaused } from '../budget/throttle.ts'
import { BREAKERS, type EndpointGroup, type GroupStates } from './breaker-state.ts'

/** The state of the upstream that all processes share, at one instant of the database's clock, in milliseconds. */
export interface UpstreamHealth {
  readonly nowMs: number
  /** 0 if there never was a pause. */
  readonly pausedUntilMs: number
  /** The part of the budget that may be spent now. 0 during a pause. */
  readonly share: number
  readonly breakers: Readonly<Record<EndpointGroup, GroupStates>>
}

/** Reads everything in one statement, because every process that calls the upstream runs it a few times a second. */
export async function readHealth(db: Db): Promise<UpstreamHealth> {
  const found = await selectOne(
    sql<UpstreamHealth>`${PREPARED}
      select (extract(epoch from now) * 1000)::float8 as "nowMs",
             (extract(epoch from paused_until) * 1000)::float8 as "pausedUntilMs",
             round((${shareInSql()})::numeric, 6)::float8 as share,
             (select jsonb_object_agg(endpoint, states)
                from (select endpoint, jsonb_object_agg(breaker, state) as states
                        from upstream_breaker group by endpoint) g) as breakers
        from (select *, clock_timestamp() as now from upstream_budget) b
    `,
    db,
  )
  return { ...found, share: isPaused(found, found.nowMs) ? 0 : found.share }
}

/** Locks both breakers of a group until the transaction ends. The clock is read after the locks are held. */
export async function lockBreakers(
  tx: Tx,
  endpoint: EndpointGroup,
): Promise<{ states: GroupStates; nowMs: number }> {
  return selectOne(
    sql<{ states: GroupStates; nowMs: number }>`
      with locked as materialized (
        select breaker, state from upstream_breaker where endpoint = ${endpoint} order by breaker for update
      ), gathered as materialized (
        select jsonb_object_agg(breaker, state) as states from locked
      )
      select states, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs" from gathered
    `,
    tx,
  )
}

export interface Transition {
  readonly before: GroupStates
  readonly after: GroupStates
}

/** Writes the changed breakers of a group. The transaction holds their locks. */
export async function saveChanged(
  tx: Tx,
  endpoint: EndpointGroup,
  { before, after }: Transition,
): Promise<void> {
  for (const breaker of BREAKERS) {
    if (isDeepStrictEqual(before[breaker], after[breaker])) continue
    await tx
      .updateTable('upstream_breaker')
      .set({ state: JSON.stringify(after[breaker]), written_at: sql`clock_timestamp()` })
      .where('endpoint', '=', endpoint)
      .where('breaker', '=', breaker)
      .execute()
  }
}

/** Logs each breaker that opened or closed. The process whose transaction changed it calls this. */
export function logTransitions(
  log: Logger,
  endpoint: EndpointGroup,
  { before, after }: Transition,
): void {
  for (const breaker of BREAKERS) {
    const was = before[breaker].open
    const is = after[breaker].open
    if (was === null && is !== null) {
      const [lastGoodAt, probeAt] = [is.goodAtMs ?? null, is.probeAtMs].map(instantOf)
      log.warn(
        { endpoint, breaker, cause: is.cause, lastGoodAt, probeAt },
        'upstream breaker opened',
      )
    }
    if (was !== null && is === null) {
      const openSince = new Date(was.sinceMs).toISOString()
      log.info({ endpoint, breaker, openSince }, 'upstream breaker closed')
    }
  }
}

function instantOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/** An older reading is refreshed in the background while it is still used. At twice this age it is refreshed first. */
const FRESH_MS = 250

/** This process's view of the upstream's health. It is at most half a second old, and includes our own writes. */
export interface HealthView {
  /** Throws only if no reading ever succeeded. While the database is unavailable the last reading is used. */
  current(): Promise<UpstreamHealth>
  /** The last reading, without a query. Undefined before the first reading. */
  known(): UpstreamHealth | undefined
  /** The database's clock in milliseconds, estimated from the last reading. */
  nowMs(): number
  /** Adds a write of this process to the view. */
  putStates(group: EndpointGroup, states: GroupStates): void
  putPause(pausedUntilMs: number): void
}

export function createHealthView({ db, clock }: { db: Db; clock: Clock }): HealthView {
  let health: UpstreamHealth | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let skewMs = 0
  let writes = 0
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    const writesBefore = writes
    const found = await readHealth(db)
    readAtMs = clock.now().getTime()
    skewMs = found.nowMs - readAtMs
    // A write during the reading may be missing in the result.
    if (health === undefined || writes === writesBefore) health = found
  }

  function refresh(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }

  function put(change: Partial<UpstreamHealth>): void {
    writes += 1
    if (health !== undefined) health = { ...health, ...change }
  }

  return {
    async current() {
      const ageMs = clock.now().getTime() - readAtMs
      // The age is negative after the clock was set back. Then the reading counts as old.
      const fresh = ageMs >= 0 && ageMs < FRESH_MS
      if (health !== undefined && fresh) return health
      const refreshed = refresh()
      if (health === undefined) await refreshed
      else if (ageMs >= 0 && ageMs < 2 * FRESH_MS) refreshed.catch(() => undefined)
      else await refreshed.catch(() => undefined)
      if (health === undefined) throw new Error('the upstream health was read but is missing')
      return health
    },
    known: () => health,
    nowMs: () => clock.now().getTime() + skewMs,
    putStates: (group, states) => {
      if (health !== undefined) put({ breakers: { ...health.breakers, [group]: states } })
    },
    putPause: (pausedUntilMs) => put({ pausedUntilMs }),
  }
}
