import { randomUUID } from 'node:crypto'
import type { Clock } from '../../platform/base/clock.ts'
import { messageOf } from '../../platform/base/errors.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { type Db, PREPARED, sql } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import {
  isPaused,
  type PauseRequest,
  pauseRequestOf,
  recordPauses,
  shareAt,
} from '../budget/throttle.ts'
import { type CallEnd, causeOf, classifyOutcome } from '../upstream-errors.ts'
import {
  type Admission,
  admissionOf,
  afterCall,
  type Breakers,
  type Change,
  type EndedCall,
  type EndpointGroup,
  listBreakers,
  type Refusal,
  withoutRefusals,
  withProbe,
} from './breaker-state.ts'

/** The right to make one call, with its instant by the database's clock. `probe` is set if the call is a probe. */
export interface Permit {
  readonly kind: 'permit'
  readonly probe: string | null
  readonly madeAtMs: number
}

type Deps = { readonly db: Db; readonly clock: Clock; readonly log: Logger }
/** A change is notified. A reading without a notification ends too, because one may have been lost. */
const READING_LASTS_MS = { notified: 250, quiet: 1_000 }

/**
 * Protects an upstream that has asked us to pause, refuses our credential or fails. All processes share its state.
 *
 * While all calls succeed it costs each process one small read a second, and no writes.
 */
export class CircuitBreaker {
  readonly #deps: Deps
  readonly #goodAtMs: Record<EndpointGroup, number | null> = { lists: null, verify: null }
  #health: UpstreamHealth | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #readingLastsMs = READING_LASTS_MS.quiet
  #skewMs = 0
  #reports: (EndedCall & { readonly pause: PauseRequest | undefined })[] = []
  #last: Promise<unknown> = Promise.resolve()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Whether a call could be made now. Changes nothing. */
  async admission(group: EndpointGroup): Promise<Admission> {
    const { pausedUntilMs, breakers } = await this.#inOrder(() => this.#current())
    const isWaiting = isPaused({ pausedUntilMs }, this.#nowMs())
    if (isWaiting) return { kind: 'refused', by: 'pause', untilMs: pausedUntilMs }
    return admissionOf(breakers, group, this.#nowMs())
  }

  /**
   * Issues the permit for one call, or refuses it. Of all processes only one gets the permit for a probe. The caller
   * must report how the permitted call ended.
   */
  async acquirePermit(group: EndpointGroup): Promise<Permit | Refusal> {
    const known = await this.admission(group)
    if (known.kind === 'refused') return known
    if (known.kind === 'allowed') return { kind: 'permit', probe: null, madeAtMs: this.#nowMs() }
    const lease = { group, probe: randomUUID() }
    const step: Change = (breakers, atMs) => withProbe(breakers, lease, atMs)
    const { before, after, nowMs } = await this.#inOrder(() => this.#change(step))
    const locked = admissionOf(before, group, nowMs)
    if (locked.kind === 'refused') return locked
    return { kind: 'permit', probe: after === before ? null : lease.probe, madeAtMs: nowMs }
  }

  /**
   * Counts an ended call. Resolves when the other processes can read what it changes; returns nothing if it changes
   * nothing. Never rejects: a lost report would soon be out of date, and the lease of a lost probe ends by itself.
   */
  report(group: EndpointGroup, record: CallEnd, { madeAtMs, probe }: Permit) {
    const outcome = classifyOutcome(record)
    if (outcome === 'good') this.#goodAtMs[group] = madeAtMs
    const goodAtMs = this.#goodAtMs[group]
    const pause = pauseRequestOf(record, madeAtMs)
    const call = { group, outcome, cause: causeOf(record), madeAtMs, probe, goodAtMs, pause }
    const known = this.#health?.breakers
    const isSame = known && afterCall(known, call, this.#nowMs()) === known
    if (isSame && this.#reports.length === 0 && pause === undefined) return
    this.#reports.push(call)
    return this.#inOrder(() => this.#write()).catch((err: unknown) => {
      this.#deps.log.warn({ reason: messageOf(err) }, 'the upstream health could not be written')
    })
  }

  /** Our credential was replaced: refusals of the former one count no more. */
  async credentialReplaced(): Promise<void> {
    await this.#inOrder(() => this.#change(withoutRefusals))
  }

  /** Another process may have changed the health: it is read again within a quarter of a second. */
  notify(): void {
    this.#readingLastsMs = READING_LASTS_MS.notified
  }

  async close(): Promise<void> {
    await this.#last
  }

  #nowMs(): number {
    return this.#deps.clock.now().getTime() + this.#skewMs
  }

  /**
   * Statements run one after the other, so every reading includes the reports before it, and calls are written in
   * batches.
   */
  #inOrder<T>(statement: () => Promise<T>): Promise<T> {
    const done = this.#last.then(statement)
    this.#last = done.catch(() => undefined)
    return done
  }

  /** Throws only if no reading ever succeeded. While the database is unavailable the last reading is used. */
  async #current(): Promise<UpstreamHealth> {
    const { db, clock } = this.#deps
    const ageMs = clock.now().getTime() - this.#readAtMs
    // The age is negative after the clock was set back. Then the reading counts as old.
    if (this.#health !== undefined && ageMs >= 0 && ageMs < this.#readingLastsMs)
      return this.#health
    // Set before the reading: a notification during it may be of what it does not see.
    this.#readingLastsMs = READING_LASTS_MS.quiet
    try {
      this.#health = await readHealth(db)
      this.#skewMs = this.#health.nowMs - clock.now().getTime()
    } catch (err) {
      if (this.#health === undefined) throw err
    }
    this.#readAtMs = clock.now().getTime()
    return this.#health
  }

  async #write() {
    const reports = this.#reports.splice(0)
    const pauses = reports.flatMap(({ pause }) => pause ?? [])
    if (pauses.length > 0) {
      const pausedUntilMs = await recordPauses(this.#deps, pauses)
      if (this.#health) this.#health = { ...this.#health, pausedUntilMs }
    }
    if (reports.length === 0) return
    await this.#change((breakers, nowMs) =>
      reports.reduce((state, call) => afterCall(state, call, nowMs), breakers),
    )
  }

  async #change(step: Change) {
    const changed = await changeBreakers(this.#deps.db, step)
    if (this.#health) this.#health = { ...this.#health, breakers: changed.after }
    logTransitions(this.#deps.log, changed)
    return changed
  }
}

/** The process whose transaction opened or closed a breaker logs it. */
function logTransitions(log: Logger, { before, after }: { before: Breakers; after: Breakers }) {
  const instantOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  for (const { endpoint, breaker, open: is } of listBreakers(after)) {
    const was = before[endpoint][breaker].open
    if (was === null && is !== null) {
      const [lastGoodAt, probeAt] = [is.goodAtMs, is.probeAtMs].map(instantOf)
      const facts = { endpoint, breaker, cause: is.cause, lastGoodAt, probeAt }
      log.warn(facts, 'upstream breaker opened')
    } else if (was !== null && is === null) {
      const facts = { endpoint, breaker, openSince: instantOf(was.sinceMs) }
      log.info(facts, 'upstream breaker closed')
    }
  }
}

/** What all processes share. Instants are milliseconds by the database's clock. During a pause `share` is 0. */
export interface UpstreamHealth {
  readonly nowMs: number
  readonly pausedUntilMs: number
  /** The part of the budget that may be spent now. */
  readonly share: number
  readonly breakers: Breakers
}

/** Reads everything in one statement, because every process that calls the upstream runs it a few times a second. */
export async function readHealth(db: Db): Promise<UpstreamHealth> {
  const { recoversFromMs, ...found } = await selectOne(
    sql<UpstreamHealth & { readonly recoversFromMs: number }>`${PREPARED}
      select (extract(epoch from now) * 1000)::float8 as "nowMs",
             (extract(epoch from paused_until) * 1000)::float8 as "pausedUntilMs",
             share, (extract(epoch from recovers_from) * 1000)::float8 as "recoversFromMs", breakers
        from (select *, clock_timestamp() as now from upstream_budget) b, upstream_breaker
    `,
    db,
  )
  const share = shareAt({ share: found.share, recoversFromMs }, found.nowMs)
  return { ...found, share: isPaused(found, found.nowMs) ? 0 : Math.round(share * 1e6) / 1e6 }
}

/** Applies a change to the locked row. The change may run twice. */
export async function changeBreakers(db: Db, change: Change) {
  return inTransaction(db, async (tx) => {
    // The clock is read after the row is locked.
    const { before, nowMs } = await selectOne(
      sql<{ before: Breakers; nowMs: number }>`
        with locked as materialized (select breakers from upstream_breaker for update)
        select breakers as before, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs" from locked
      `,
      tx,
    )
    const after = change(before, nowMs)
    const breakers = JSON.stringify(after)
    if (after !== before) {
      await sql`
        with changed as materialized (update upstream_breaker set breakers = ${breakers} returning true)
        select ${notify('upstream')} from changed
      `.execute(tx)
    }
    return { before, after, nowMs }
  })
}
