/** What the benchmarks share: a durable PostgreSQL, processes and what they use, and tables of figures. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { Pool } from 'undici'
import { type App, openApp } from '../src/app/app.ts'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { SUPERUSER } from '../src/embedded/postgres-data.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { systemClock } from '../src/platform/base/clock.ts'
import type { RouteListName } from '../src/platform/base/kinds.ts'
import { loadConfig } from '../src/platform/config/config.ts'
import { createApiKey } from '../src/resellers/api-keys.ts'
import { createReseller } from '../src/resellers/resellers.ts'
import { GUARD_LIMITS } from '../src/routes/guard.ts'
import { syncList } from '../src/routes/sync.ts'
import { importWatchList } from '../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../src/watches/rows/watch-row.ts'
import {
  freePort,
  hasRedisServer,
  startRedisServer,
  stopRedisServer,
} from '../test/support/redis-tier.ts'
import { silentLog } from '../test/support/silent-log.ts'

/** The numbers of the command line, or the presets. */
export function numbers<T extends readonly number[]>(...presets: T): { [I in keyof T]: number } {
  const given = presets.map((preset, i) => Number(process.argv[2 + i] ?? preset))
  return given as { [I in keyof T]: number }
}

export interface Postgres {
  readonly url: string
  /** The address of the same database for its superuser. */
  readonly superuserUrl: string
  readonly pid: number
  close(): Promise<void>
}

type Settings = Readonly<Record<string, string>>

export async function startPostgres(settings: Settings = {}): Promise<Postgres> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
  const { url, release } = await acquireEmbeddedPostgres({ home, log: silentLog, settings })
  const { directory, data, passwordFile } = await findPlace(home)
  const superuser = new URL(url)
  superuser.username = SUPERUSER
  superuser.password = readFileSync(passwordFile, 'utf8').trim()
  return {
    url,
    superuserUrl: superuser.href,
    pid: Number.parseInt(readFileSync(path.join(data, 'postmaster.pid'), 'utf8'), 10),
    close: async () => {
      await release()
      for (const folder of [directory, home]) await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface Redis {
  readonly url: string
  readonly pid: number
  close(): Promise<void>
}

/** Undefined on a machine without redis-server. */
export async function startRedis(): Promise<Redis | undefined> {
  if (!hasRedisServer()) return undefined
  const port = await freePort()
  const server = await startRedisServer(port)
  const url = `redis://127.0.0.1:${port}`
  return { url, pid: server.pid ?? 0, close: () => stopRedisServer(server) }
}

/** The settings of a role for a database. Nothing is fetched on a schedule. */
export function settingsFor(postgres: Postgres, more: Settings = {}) {
  return {
    DATABASE_URL: postgres.url,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    MIN_INTERVAL_SECONDS: '1',
    ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    API_PORT: '0',
    ADMIN_PORT: '0',
    ...more,
  }
}

/** The application in this process, to fill a database and for rivals. */
export function openBenchApp(settings: ReturnType<typeof settingsFor>): App {
  const config = { ...loadConfig(settings, os.tmpdir()), ...stores(settings) }
  return openApp({ config, log: silentLog, clock: systemClock, role: 'bench' })
}

function stores({ DATABASE_URL, UPSTREAM_BASE_URL }: ReturnType<typeof settingsFor>) {
  return { DATABASE_URL, UPSTREAM_BASE_URL }
}

export interface Role {
  readonly pid: number
  readonly url: string
  stop(): Promise<void>
}

export const FAREWATCH = path.join(import.meta.dirname, '../bin/farewatch')

/** Starts a role as users start it. Resolves when it is ready. */
export async function startRole(role: 'api' | 'worker' | 'up', settings: Settings): Promise<Role> {
  const env = { PATH: process.env.PATH, ...settings }
  const child = spawn(FAREWATCH, [role], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const ready = await new Promise<string>((resolve, reject) => {
    let output = ''
    // Read as long as it runs: a process ends when its output is not read.
    child.stdout.on('data', (chunk: Buffer) => {
      output = `${output}${chunk.toString()}`.slice(-10_000)
      if (output.includes('"msg":"ready"')) resolve(output)
    })
    child.once('exit', (code) => reject(new Error(`the ${role} ended with ${code}`)))
  })
  const url = /"api":"([^"]+)\/api\/v1\/status"/.exec(ready)?.[1] ?? ''
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return { pid: child.pid ?? 0, url, stop }
}

/** Starts a file of this folder in a process of its own. Resolves with its first message. */
export async function startFile<T>(
  name: string,
  args: readonly string[] = [],
): Promise<{ readonly child: ChildProcess; readonly first: T }> {
  const child = fork(path.join(import.meta.dirname, name), args)
  const [first] = (await once(child, 'message')) as [T]
  return { child, first }
}

/** CPU time of a process, its children, and those that have ended. On Linux, /proc counts in hundredths of a second. */
function cpuSeconds(pid: number): number {
  const ticks = readdirSync('/proc').flatMap((name) => {
    const stat = /^\d+$/.test(name) ? readStat(name) : []
    if (Number(name) === pid) return stat.slice(11, 15)
    return Number(stat[1]) === pid ? stat.slice(11, 13) : []
  })
  return ticks.reduce((sum, n) => sum + Number(n), 0) / 100
}

/** The fields of /proc/PID/stat from the third on. Empty if the process has just ended. */
function readStat(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** @example megabytes(pid, 'VmHWM') // the most that it had */
export function megabytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
}

const AT_EXIT =
  "process.on('exit', () => process.stderr.write('@' + process.resourceUsage().maxRSS))"

/** The most memory that the Node.js of a command had. */
export async function peakMegabytes(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(AT_EXIT)}`
  const child = spawn(program, args, {
    env: { ...env, NODE_OPTIONS },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return Number(/@(\d+)/.exec(await text(child.stderr))?.[1]) / 1024
}

/** How long something takes, and the CPU seconds of each of these processes meanwhile. */
export async function measured(pids: readonly number[], during: () => Promise<unknown>) {
  const [beganMs, before] = [performance.now(), pids.map(cpuSeconds)]
  await during()
  const cpu = pids.map((pid, i) => cpuSeconds(pid) - (before[i] ?? 0))
  return { seconds: (performance.now() - beganMs) / 1_000, cpu }
}

export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  return 1_000 * (await measured([], work)).seconds
}

const CONNECTIONS = 64

/** The floor of requests: as many as undici can make. Returns how many were answered. */
export async function bareLoop(
  url: string,
  seconds: number,
  request: (n: number) => { readonly path: string; readonly body?: string },
): Promise<number> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1, allowH2: false })
  const end = performance.now() + seconds * 1_000
  let count = 0
  const loop = async () => {
    while (performance.now() < end) {
      count += 1
      const sent = request(count)
      const method = sent.body === undefined ? 'GET' : 'POST'
      const { statusCode, body } = await pool.request({ method, ...sent })
      await body.dump()
      // Refusals are fast. Only answers may be compared.
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
  await pool.close()
  return count
}

/** The cells of watches of one list, for one adult each. */
export function watchCells(list: string, count: number, firstFlight = 1_000_000) {
  return Array.from({ length: count }, (_, i) => ({
    list,
    reference: `w${i}`,
    flight_id: String(firstFlight + i),
    residents_adults: '0',
    non_residents_adults: '1',
  }))
}

/** Adds a reseller with watches and a key. */
export async function addReseller(
  { database: { db } }: App,
  name: string,
  cells: readonly Readonly<Record<string, string>>[],
) {
  const { id: resellerId } = await createReseller(db, name)
  await importWatchList(db, { resellerId, source: rowsOf('bench', cells) })
  const { text: key } = await createApiKey(db, { resellerId })
  return { resellerId, key }
}

/** A sync with wider limits of the guard: more of a list changes than it allows. */
export async function syncOnce({ syncDeps }: App, list: RouteListName): Promise<void> {
  const guard = { ...GUARD_LIMITS, absentShare: 1, removedPerDayShare: 1 }
  const { signal } = new AbortController()
  const { kind } = await syncList({ ...syncDeps, guard }, { list }, signal)
  if (kind !== 'ran') throw new Error(`the sync is ${kind}`)
}

/** @example quantile([3, 1, 2], 0.5) // 2 */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

type Cell = string | number

/** A number is shown with three digits, or whole. */
const show = (cell: Cell) =>
  typeof cell === 'string' ? cell : cell >= 100 ? cell.toFixed(0) : cell.toPrecision(3)

/** A table in Markdown. Rows are printed as they come. */
export function printHead(title: string, columns: readonly string[]): void {
  const load = os.loadavg().map((one) => one.toFixed(1))
  console.log(`\n${title}; load average ${load.join(' ')}\n`)
  printRow(columns)
  printRow(columns.map(() => '---'))
}

export function printRow(cells: readonly Cell[]): void {
  console.log(`| ${cells.map(show).join(' | ')} |`)
}
