import { setTimeout as delay, setImmediate as nextLoop } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { type Db, openDatabase } from '../../src/platform/db/database.ts'
import { silentLog } from './silent-log.ts'

/**
 * The parameters of a property that plays many orders of events. `RUNS` plays more of them, and `REPLAY`, which a failure
 * prints, repeats the failed one.
 */
export function playing(few: number): fc.Parameters<unknown> {
  const [seed, ...path] = process.env.REPLAY?.split(':') ?? []
  const replay = seed === undefined ? {} : { seed: Number(seed), path: path.join(':') }
  return {
    numRuns: Number(process.env.RUNS ?? few),
    // A run depends on what the ones before left, so that a smaller script of a failure may pass by chance.
    endOnFailure: true,
    ...replay,
    asyncReporter: async (details) => {
      if (!details.failed) return
      const report = await fc.asyncDefaultReportMessage(details)
      const again = `REPLAY=${details.seed}:${details.counterexamplePath}`
      throw new Error(`${report}\nRepeat it with ${again}`, { cause: details.errorInstance })
    },
  }
}

/** Most statements end within it, and need no query whether they wait. */
const SHORT_MS = 3
/** Actions that take longer hang. */
const STUCK_MS = 60_000

export interface InterleavedProcess {
  readonly name: string
  readonly db: Db
  /** Whether `kill` has ended it. */
  readonly isDead: () => boolean
  /** Ends its session at the server, as if the process had died. What it did last never returns. */
  readonly kill: () => Promise<void>
}

export interface StatementResult {
  readonly process: string
  readonly text: string
  readonly rows: readonly Record<string, unknown>[]
}

/** Processes whose statements run one after the other, in an order that fast-check chooses. */
export interface Interleaving {
  readonly scheduler: fc.Scheduler
  /** Opens a process with one session of the database. */
  readonly open: (name: string) => Promise<InterleavedProcess>
  /**
   * Runs actions of processes together, until they have ended and no transaction is open. Those of a process that is killed in
   * between are left. What the actions began may go on during the next ones.
   */
  readonly together: (actions: readonly Action[]) => Promise<void>
  readonly close: () => Promise<void>
}

export interface Action {
  readonly process: InterleavedProcess
  readonly run: () => Promise<unknown>
}

interface InterleavingOptions {
  readonly url: string
  readonly scheduler: fc.Scheduler
  readonly onStatement?: (result: StatementResult) => void
}

/**
 * A statement begins when the scheduler says so, and the next one begins when it has ended or waits for a lock. A seed thus
 * gives the same order each time, which the database decides where processes wait for each other.
 */
export async function createInterleaving(options: InterleavingOptions): Promise<Interleaving> {
  const { url, scheduler, onStatement = () => undefined } = options
  const observer = new pg.Client({ connectionString: url })
  await observer.connect()
  const closing: (() => Promise<void>)[] = []
  /** What happens now, with the session that it happens in. */
  const running = new Map<Promise<unknown>, number>()
  /** The processes with an open transaction. */
  const transactions = new Set<string>()

  const track = async <T>(work: Promise<T>, pid: number): Promise<T> => {
    running.set(work, pid)
    try {
      return await work
    } finally {
      running.delete(work)
    }
  }

  async function waiting(): Promise<number> {
    const { rows } = await observer.query(
      'select count(*)::int as n from unnest($1::int[]) pid where cardinality(pg_blocking_pids(pid)) > 0',
      [[...running.values()]],
    )
    return rows[0].n
  }

  /** Resolves when every statement has ended or waits for a lock. */
  async function untilQuiet(): Promise<void> {
    do await Promise.race([Promise.allSettled(running.keys()), delay(SHORT_MS)])
    while (running.size > 0 && (await waiting()) < running.size)
    await nextLoop()
  }

  async function together(actions: readonly Action[]): Promise<void> {
    const left = new Set<Action>()
    const failures: unknown[] = []
    for (const action of actions) {
      const { process, run } = action
      const fail = (err: unknown) => {
        if (!process.isDead()) failures.push(err)
      }
      if (process.isDead()) continue
      left.add(action)
      void run()
        .catch(fail)
        .finally(() => left.delete(action))
    }
    const isLeft = () => transactions.size > 0 || [...left].some(({ process }) => !process.isDead())
    const end = Date.now() + STUCK_MS
    for (await untilQuiet(); isLeft(); await untilQuiet()) {
      if (scheduler.count() > 0) await scheduler.waitOne()
      if (Date.now() > end) throw new Error(`${left.size} actions do not end: ${scheduler}`)
    }
    if (failures.length > 0) throw failures[0]
  }

  return {
    scheduler,
    together,
    open: (name) =>
      openProcess({ url, name, scheduler, observer, track, transactions, closing, onStatement }),
    close: async () => {
      for (const close of closing) await close()
      await observer.end()
    },
  }
}

interface ProcessParts extends Required<InterleavingOptions> {
  readonly name: string
  readonly observer: pg.Client
  readonly track: <T>(work: Promise<T>, pid: number) => Promise<T>
  readonly transactions: Set<string>
  readonly closing: (() => Promise<void>)[]
}

async function openProcess(parts: ProcessParts): Promise<InterleavedProcess> {
  const { url, name, scheduler, observer, track, transactions, closing, onStatement } = parts
  const database = openDatabase({ url, applicationName: name, log: silentLog, maxConnections: 1 })
  let isDead = false
  const never = new Promise<never>(() => undefined)
  const client = await database.pool.connect()
  const pid = (client as unknown as { processID: number }).processID
  const query = client.query.bind(client) as (config: pg.QueryConfig) => Promise<pg.QueryResult>
  const interleaved = async (config: pg.QueryConfig) => {
    await scheduler.schedule(Promise.resolve(), `${name}: ${shortened(config.text)}`)
    if (isDead) return never
    if (config.text === 'begin') transactions.add(name)
    try {
      const { rows, ...result } = await track(query(config), pid)
      onStatement({ process: name, text: config.text, rows })
      return { ...result, rows }
    } catch (err) {
      return isDead ? never : Promise.reject(err)
    } finally {
      if (config.text === 'commit' || config.text === 'rollback') transactions.delete(name)
    }
  }
  client.query = interleaved as unknown as typeof client.query
  client.release()
  closing.push(async () => {
    if (!isDead) await database.close()
  })

  const kill = async () => {
    isDead = true
    // Else what waits for a request would go on with another session.
    Object.assign(database.pool, { connect: () => never })
    transactions.delete(name)
    let alive = true
    while (alive) {
      const { rows } = await observer.query(
        'select pg_terminate_backend($1) as ended from pg_stat_activity where pid = $1',
        [pid],
      )
      alive = rows.length > 0
    }
  }
  return { name, db: database.db, isDead: () => isDead, kill: () => track(kill(), 0) }
}

function shortened(text: string): string {
  return text
    .replace(/\/\*.*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 60)
}

/** A command of a world. `expectPromises` holds after each. */
export function commandsOf<World>(
  kinds: readonly fc.Arbitrary<readonly [name: string, run: (world: World) => Promise<void>]>[],
  { most, expectPromises }: { most: number; expectPromises: (world: World) => Promise<void> },
): fc.Arbitrary<Iterable<fc.AsyncCommand<object, World>>> {
  const commands = kinds.map((kind) =>
    kind.map(
      ([name, run]): fc.AsyncCommand<object, World> => ({
        check: () => true,
        run: async (_, world) => {
          await run(world)
          await expectPromises(world)
        },
        toString: () => name,
      }),
    ),
  )
  return fc.commands(commands, { maxCommands: most, size: 'max' })
}
