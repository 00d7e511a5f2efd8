import os from 'node:os'
import { verifyRulesOf } from '../../src/app/settings-for.ts'
import type { Check, ClaimRef } from '../../src/fares/beliefs.ts'
import type { VerifyDeps } from '../../src/fares/check.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { type Database, type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import type { ClaimedCheck, DispatchDeps } from '../../src/schedule/claim.ts'
import { verifyFares } from '../../src/upstream/flights/verify-fares.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import type { Provider } from '../../src/upstream/provider.ts'
import { fieldValue, QUESTION_FIELDS, type Question } from '../../src/upstream/question.ts'
import { DEFAULT_LIMITS, type HttpExchange } from '../../src/upstream/transport/http-exchange.ts'
import { UpstreamNetworkError, UpstreamTimeoutError } from '../../src/upstream/upstream-errors.ts'
import { importWatchList } from '../../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../../src/watches/rows/watch-row.ts'
import { silentLog } from '../../test/support/silent-log.ts'
import type { Wire } from './answers.ts'

/*
 * All that the benchmark uses of the product. It runs in two checkouts: what one of them may lack, or have in
 * another module, is looked up, and not imported by name.
 */

export interface Product {
  readonly db: Db
  setClock(atMs: number): Promise<void>
  /** Watches these questions. Returns the number of the tracked fare of each. */
  watch(questions: readonly Question[]): Promise<number[]>
  /** Reads an answer as the product does. */
  read(question: Question, wire: Wire): Promise<Observation>
  /** Claims what is due in the next seconds, in the order of the slots. */
  dispatch(): Promise<ClaimedCheck[]>
  /** Records checks of fares that it holds claims on, in one batch. */
  recordClaimed(checks: readonly Check[]): Promise<void>
  /** What a worker does once a minute. */
  everyMinute(): Promise<void>
  /** How many answers it has dropped, by reason. */
  readonly dropped: ReadonlyMap<string, number>
  close(): Promise<void>
}

/** Settings of the product, where they are not as preset. */
export interface Settings {
  readonly UPSTREAM_REQUESTS_PER_SECOND: number
  readonly MIN_INTERVAL_SECONDS?: number
  readonly MASS_HOLD_MINUTES?: number
}

export interface ProductArgs {
  readonly databaseUrl: string
  readonly settings: Settings
}

/** Migrates an empty database, with the simulated clock in place of its own. */
export async function openProduct({ databaseUrl, settings }: ProductArgs): Promise<Product> {
  const options = { url: databaseUrl, applicationName: 'truth', log: silentLog, maxConnections: 1 }
  const database = openDatabase(options)
  const { db } = database
  const setClock = await simulateClock(database)
  await migrate(db)
  const required = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://upstream.invalid' }
  // Some values are below what a setting allows: a soak has short holds.
  const rules = verifyRulesOf({ ...loadConfig(required, os.tmpdir()), ...settings })
  const { metrics, dropped } = countedDrops()
  const clock = { now: () => new Date(Date.now()), sleep: async () => undefined }
  const deps = { db, rules, metrics, clock, log: silentLog, upstream: { verifyFares: never } }
  return {
    db,
    setClock,
    watch: (questions) => watch(db, questions),
    read,
    dispatch: async () => {
      const requestsPerSecond = await pacedRate(db, rules.requestsPerSecond)
      const queue = { enqueue: async () => undefined }
      const { minRecheckSeconds } = rules
      const dispatch = await find<(deps: DispatchDeps) => Promise<ClaimedCheck[]>>('dispatchChecks')
      return (await dispatch?.({ db, queue, requestsPerSecond, minRecheckSeconds })) ?? []
    },
    recordClaimed: async (checks) => {
      const claim = await claimTogether(
        db,
        checks.map(({ fareId }) => fareId),
      )
      const record = await find<Action>('recordBatch')
      await record?.(deps, { checks, late: [], blocked: [] }, claim)
    },
    everyMinute: async () => {
      await (await find<Action>('updateRates'))?.(db, rules)
      await keepBudget(db, rules)
      const close = await find<Action>('closeUncheckedIncidents')
      await close?.({ db, log: silentLog }, rules.massHoldMs)
    },
    dropped,
    close: () => database.close(),
  }
}

/** A recorded stream is played without claims, so what they keep of the budget is written here; older versions have none. */
async function keepBudget(
  db: Db,
  { requestsPerSecond, minRecheckSeconds }: VerifyDeps['rules'],
): Promise<void> {
  const { isKept } = await selectOne(
    sql<{ isKept: boolean }>`select to_regclass('schedule_facts') is not null as "isKept"`,
    db,
  )
  if (!isKept) return
  await sql`
    update schedule_facts
       set requests_per_second = ${requestsPerSecond}, min_recheck_seconds = ${minRecheckSeconds}
  `.execute(db)
}

async function claimTogether(db: Db, fareIds: readonly number[]): Promise<ClaimRef> {
  const { claimId } = await selectOne(
    sql<{ claimId: string }>`
      with one as materialized (select gen_random_uuid() as id), claimed as (
        update fare_schedule set claim_id = one.id, slot_at = coalesce(slot_at, clock_timestamp())
          from one
         where tracked_fare_id = any(${fareIds}::bigint[]))
      select id as "claimId" from one
    `,
    db,
  )
  return { claimId, fareIds }
}

const never = () => Promise.reject(new Error('the benchmark asks its own upstream'))

/** The schema of the simulated clock. */
const CLOCK_SCHEMA = 'simulated'
/** The catalog comes last, so that these functions hide its own. */
const CLOCKS = ['clock_timestamp', 'now', 'statement_timestamp', 'transaction_timestamp']

/**
 * The clock is a setting of the one connection, so reading it costs no more than reading the real one. Code that takes
 * the time of this process gets the simulated one too.
 */
async function simulateClock({ db, pool }: Database): Promise<Product['setClock']> {
  pool.on('connect', (client) => {
    void client.query(`set search_path = farewatch_private, ${CLOCK_SCHEMA}, pg_catalog`)
  })
  await sql`create schema farewatch_private`.execute(db)
  await sql`create schema ${sql.id(CLOCK_SCHEMA)}`.execute(db)
  for (const name of CLOCKS) {
    await sql`
      create function ${sql.id(CLOCK_SCHEMA, name)}() returns timestamptz language sql stable
        return current_setting('simulated.now')::timestamptz
    `.execute(db)
  }
  let setMs = 0
  const setClock = async (atMs: number) => {
    if (atMs === setMs) return
    setMs = atMs
    Date.now = () => atMs
    await sql`select set_config('simulated.now', ${new Date(atMs).toISOString()}, false)`.execute(
      db,
    )
  }
  await setClock(Date.now())
  return setClock
}

async function watch(db: Db, questions: readonly Question[]): Promise<number[]> {
  const { id: resellerId } = await createReseller(db, 'bench')
  const rows = questions.map((question, i) => {
    const cells = QUESTION_FIELDS.map((field) => {
      return [field.column, String(fieldValue(question, field) ?? '')] as const
    })
    return { list: 'bench', reference: String(i), ...Object.fromEntries(cells) }
  })
  await importWatchList(db, { resellerId, source: rowsOf('bench', rows) })
  const watches = await db
    .selectFrom('watch')
    .select('tracked_fare_id as id')
    .orderBy(sql`reference::int`)
    .execute()
  if (watches.length < questions.length) throw new Error('a question is no valid watch')
  return watches.flatMap(({ id }) => id ?? [])
}

/** Some versions check more slowly while the upstream is in trouble. No breaker opens here: others use the whole budget. */
async function pacedRate(db: Db, requestsPerSecond: number): Promise<number> {
  const readTrouble = await find<(db: Db) => Promise<unknown>>('readTrouble')
  const paced = await find<(rate: number, trouble: unknown) => number>('pacedRate')
  if (readTrouble === undefined || paced === undefined) return requestsPerSecond
  return paced(requestsPerSecond, await readTrouble(db))
}

type Action = (...args: readonly unknown[]) => Promise<unknown>

/** Where versions have the functions that are looked up. */
const MODULES = [
  'fares/check',
  'fares/verify-fares-job',
  'fares/incidents',
  'fares/hold/incidents',
  'fares/hold/change-incidents',
  'schedule/claim',
  'schedule/dispatch-checks',
  'schedule/update-rates',
  'upstream/fares/fares-provider',
]

/** A function of src; undefined where this version has none of this name. */
async function find<F>(name: string): Promise<F | undefined> {
  for (const file of MODULES) {
    const { [name]: found } = await load(file)
    if (found !== undefined) return found as F
  }
  return undefined
}

async function load(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(`../../src/${file}.ts`)) as Record<string, unknown>
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === 'ERR_MODULE_NOT_FOUND') return {}
    throw err
  }
}

/** Metrics that keep the number of dropped answers, and nothing else. */
function countedDrops() {
  const dropped = new Map<string, number>()
  const nothing = { inc: () => undefined, observe: () => undefined, set: () => undefined }
  const inc = ({ reason }: { reason: string }, count = 1) => {
    if (count > 0) dropped.set(reason, (dropped.get(reason) ?? 0) + count)
  }
  const metrics = new Proxy(
    {},
    { get: (_, name) => (name === 'checksDropped' ? { inc } : nothing) },
  )
  return { dropped, metrics: metrics as VerifyDeps['metrics'] }
}

const scrub = createScrub([])
const { signal } = new AbortController()
const provider = (await find<Provider>('FARES_PROVIDER')) as Provider

function read(question: Question, wire: Wire): Promise<Observation> {
  const record = { bytes: 0 } as Parameters<typeof verifyFares>[1]['record']
  const deps = { provider, exchange: exchangeOf(wire), limits: DEFAULT_LIMITS, scrub }
  return verifyFares(deps, { question, record, signal })
}

/** An exchange that has one answer. */
function exchangeOf(wire: Wire): HttpExchange {
  return {
    get: async ({ endpoint, deadlineMs, wants }) => {
      if ('failure' in wire) {
        throw wire.failure === 'timeout'
          ? new UpstreamTimeoutError({ endpoint, phase: 'headers', afterMs: deadlineMs })
          : new UpstreamNetworkError({ endpoint, reason: 'ECONNRESET' })
      }
      const { status, headers, body } = wire
      const bytes = Buffer.from(body)
      return {
        status,
        headers,
        wanted: wants({ status, headers }),
        complete: true,
        chunks: [bytes],
        bytes: bytes.length,
        wireBytes: bytes.length,
        retryAfterMs: undefined,
        headersMs: 0,
        totalMs: 0,
      }
    },
    close: async () => undefined,
  }
}
