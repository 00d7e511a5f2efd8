import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox-server.ts'
import { searchDemoFlights } from '../../src/sandbox/world/demo-flights.ts'
import { fareHistory } from '../../src/sandbox/world/fare-life.ts'
import { rowsOf } from '../../src/watch/files/open-watch-file.ts'
import { importWatchList } from '../../src/watch/import/import-watch-list.ts'
import { startFarewatch } from '../support/child-process.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import type { LoggedAnswer } from './soak-model.ts'

export interface SoakArgs {
  readonly db: Db
  readonly databaseUrl: string
  readonly seconds: number
  readonly questions: number
  readonly requestsPerSecond: number
  /** Seconds of sandbox time per second. */
  readonly speed: number
  readonly faultShare: number
  readonly random: () => number
}

/** The requests and answers in the log of the sandbox, and the answers that the proxy corrupted. */
export interface SoakLog {
  /** Answers by `outbound|return` flight ids. */
  readonly answers: ReadonlyMap<string, LoggedAnswer[]>
  /** When each request reached the proxy, in milliseconds. */
  readonly requestsMs: readonly number[]
  readonly corrupted: Readonly<Record<string, number>>
}

/** A seeded generator, so that every run has the same faults. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const TOKEN = 'soak-access-token'
const RETURN_EVERY = 5
const CHANGING_EVERY = 8

/** Runs two real workers against a sandbox behind a faulty proxy and ends them with SIGTERM. */
export async function runSoak(args: SoakArgs): Promise<SoakLog> {
  const sandbox = await startSandbox({
    port: 0,
    seed: 7,
    speed: args.speed,
    token: TOKEN,
    clock: systemClock,
    log: silentLog,
  })
  const proxy = await startFaultyProxy(sandbox.url, args.faultShare, args.random)
  try {
    const flights = chooseFlights(sandbox, args)
    await importWatches(args, flights)
    const workers = [0, 1].map(() =>
      startFarewatch(['worker'], {
        DATABASE_URL: args.databaseUrl,
        UPSTREAM_BASE_URL: proxy.url,
        UPSTREAM_ACCESS_TOKEN: TOKEN,
        UPSTREAM_REQUESTS_PER_SECOND: String(args.requestsPerSecond),
        MIN_RECHECK_SECONDS: '1',
        ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
        AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
        ADMIN_PORT: '0',
      }),
    )
    await delay(args.seconds * 1000)
    await drain(args.db)
    for (const worker of workers) worker.child.kill('SIGTERM')
    const exits = await Promise.all(workers.map((worker) => worker.ended))
    if (exits.some((exit) => exit !== 0))
      throw new Error(
        `a worker ended with ${exits.join(', ')}: ${workers.map((w) => w.stderr()).join('\n')}`,
      )
    return {
      answers: await readAnswers(sandbox.url),
      requestsMs: proxy.requestsMs,
      corrupted: proxy.corrupted,
    }
  } finally {
    await proxy.close()
    await sandbox.close()
  }
}

/**
 * Chooses flights of which one in eight sells out between the first checks and the end of the run. More losses at once would
 * be held as a mass loss.
 */
function chooseFlights(sandbox: Sandbox, { questions, seconds, speed }: SoakArgs): string[] {
  const now = sandbox.now().getTime()
  const found = searchDemoFlights(sandbox.world, sandbox.now(), questions * 4)
  const at = (share: number) => new Date(now + share * seconds * speed * 1000)
  const window = { from: at(0.25), to: at(0.9) }
  const losing = found
    .slice(0, 2 * questions)
    .filter((id) =>
      fareHistory(sandbox.world, id, window).some((s) => s.before.available && !s.after.available),
    )
  const quiet = found.slice(-2 * questions)
  return quiet.map((id, i) =>
    i < questions && i % CHANGING_EVERY === 2 ? (losing[Math.floor(i / CHANGING_EVERY)] ?? id) : id,
  )
}

/** Makes two resellers watch overlapping parts of the same questions. Every fifth question has a return flight. */
async function importWatches(
  { db, questions }: SoakArgs,
  flights: readonly string[],
): Promise<void> {
  for (const [name, from, to] of [
    ['ana', 0, 0.7],
    ['ben', 0.3, 1],
  ] as const) {
    const reseller = await createReseller(db, name)
    const rows = flights.slice(0, questions).map((flightId, i) => ({
      list: 'soak',
      reference: `w${i}`,
      flight_id: flightId,
      ...(i % RETURN_EVERY === 0 ? { return_flight_id: flights[questions + i] ?? '' } : {}),
      residents_adults: '0',
      non_residents_adults: '1',
    }))
    const mine = rows.slice(Math.floor(questions * from), Math.floor(questions * to))
    await importWatchList(db, { resellerId: reseller.id, source: rowsOf(name, mine) })
  }
}

/** Makes no fare due any more, so that no new claim is made, and waits until no claim is open. */
export async function drain(db: Db): Promise<void> {
  await sql`update fare_schedule set not_before = 'infinity', lane = null, lane_due_at = null where claim_id is null`.execute(
    db,
  )
  await until('no open claims', async () => {
    await sql`update fare_schedule set not_before = 'infinity', lane = null, lane_due_at = null where claim_id is null`.execute(
      db,
    )
    const { rows } = await sql<{ open: number }>`
      select count(*) as open from fare_schedule where claim_id is not null
    `.execute(db)
    return rows[0]?.open === 0
  })
}

interface LogEntry {
  readonly seq: number
  readonly realMs: number
  readonly endpoint: string
  readonly question: { readonly flightId: string; readonly returnFlightId?: string | null } | null
  readonly outcome: { readonly status: number; readonly available?: Record<string, boolean> }
}

async function readAnswers(url: string): Promise<SoakLog['answers']> {
  const answers = new Map<string, LoggedAnswer[]>()
  for (let after = 0; ; ) {
    const page = (await (await fetch(`${url}/sandbox/log?after=${after}`)).json()) as {
      entries: LogEntry[]
      next: number
    }
    if (page.entries.length === 0) return answers
    for (const { realMs, question, outcome } of page.entries) {
      if (question === null || outcome.available === undefined) continue
      const key = `${question.flightId}|${question.returnFlightId ?? ''}`
      answers.set(key, [...(answers.get(key) ?? []), { realMs, available: outcome.available }])
    }
    after = page.next
  }
}
