import { migrateApp } from '../../src/app/app.ts'
import { simulateClock } from '../../src/embedded/simulated-clock.ts'
import { recordBatch } from '../../src/fares/check.ts'
import { openDatabase, sql } from '../../src/platform/db/database.ts'
import { type ClaimedCheck, dispatchChecks } from '../../src/schedule/claim.ts'
import { FARES_PROVIDER } from '../../src/upstream/fares/fares-provider.ts'
import { verifyFares } from '../../src/upstream/flights/verify-fares.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import {
  fieldValue,
  QUESTION_FIELDS,
  type Question,
  questionWith,
} from '../../src/upstream/question.ts'
import { DEFAULT_LIMITS, type HttpExchange } from '../../src/upstream/transport/http-exchange.ts'
import { silentLog } from '../../test/support/silent-log.ts'
import { addReseller, openBenchApp, settingsFor, startPostgres } from '../harness.ts'
import type { Wire } from './answers.ts'
import type { Fare } from './market.ts'

/** Nothing that is played must survive a crash. No other process may decide when a table is analyzed: plans depend on it. */
const FAST = {
  autovacuum: 'off',
  max_parallel_workers_per_gather: '0',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
}

/** The product on a database of its own, with a simulated clock. */
export async function openProduct(requestsPerSecond: number, startMs: number) {
  const postgres = await startPostgres(FAST)
  const settings = settingsFor(postgres, {
    UPSTREAM_REQUESTS_PER_SECOND: String(requestsPerSecond),
    MIN_INTERVAL_SECONDS: '60',
  })
  const app = openBenchApp(settings)
  await migrateApp(app)
  const options = { url: postgres.url, applicationName: 'truth', log: silentLog, maxConnections: 1 }
  const database = openDatabase(options)
  const { db } = database
  const clock = await simulateClock(database)
  await sql`insert into demo (history_since, history_until) values (now(), now())`.execute(db)
  const setClock = async (atMs: number) => {
    Date.now = () => atMs
    await clock.set(atMs)
  }
  await setClock(startMs)
  const close = async () => {
    await database.close()
    await app.close()
    await postgres.close()
  }
  return { app: { ...app, database }, db, setClock, close }
}

type Product = Awaited<ReturnType<typeof openProduct>>

/** Watches these fares. Returns each by the number of its tracked fare. */
export async function watch(
  { app, db }: Product,
  fares: readonly Fare[],
): Promise<Map<number, Fare>> {
  await addReseller(app, 'bench', fares.map(cellsOf))
  const { rows } = await sql<{ id: number }>`
    select tracked_fare_id as id from watch order by reference::int
  `.execute(db)
  if (rows.length < fares.length) throw new Error('a question is no valid watch')
  return new Map(fares.map((fare, i) => [rows[i]?.id ?? 0, fare]))
}

/** Claims what is due in the next seconds, in the order of the slots. */
export function dispatch({ app, db }: Product): Promise<ClaimedCheck[]> {
  const { requestsPerSecond, minRecheckSeconds } = app.verifyDeps.rules
  const queue = { enqueue: async () => undefined }
  return dispatchChecks({ db, queue, requestsPerSecond, minRecheckSeconds })
}

export async function record(
  { app, db }: Product,
  claimed: readonly (ClaimedCheck & { readonly observation: Observation })[],
): Promise<void> {
  for (const [claimId, some] of Map.groupBy(claimed, (check) => check.claimId)) {
    const checks = some.map(({ fareId, slotAt, lane, observation }) => {
      return { fareId, askedAt: slotAt, why: lane, observation }
    })
    const fareIds = checks.map(({ fareId }) => fareId)
    const batch = { checks, late: [], blocked: [] }
    await recordBatch({ ...app.verifyDeps, db }, batch, { claimId, fareIds })
  }
}

function questionOf({ legs: [flight, back], passengers: [adults, children] }: Fare): Question {
  return questionWith({
    flightId: flight.id,
    returnFlightId: back?.id ?? null,
    passengers: { nonResidents: { adults, children } },
  })
}

function cellsOf(fare: Fare, i: number) {
  const question = questionOf(fare)
  const cells = QUESTION_FIELDS.map((field) => {
    return [field.column, String(fieldValue(question, field) ?? '')] as const
  })
  return { list: 'bench', reference: String(i), ...Object.fromEntries(cells) }
}

const { signal } = new AbortController()

/** Reads an answer as the product does. */
export function read(fare: Fare, wire: Wire): Promise<Observation> {
  const record = { bytes: 0 } as Parameters<typeof verifyFares>[1]['record']
  const scrub = (text: string) => text
  const provider = FARES_PROVIDER
  const deps = { provider, exchange: exchangeOf(wire), limits: DEFAULT_LIMITS, scrub }
  return verifyFares(deps, { question: questionOf(fare), record, signal })
}

/** An exchange that has one answer. */
function exchangeOf({ status, headers, body }: Wire): HttpExchange {
  const bytes = Buffer.from(body)
  return {
    get: async ({ wants }) => ({
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
    }),
    close: async () => undefined,
  }
}
