import { aheadText, durationText } from '../platform/base/text.ts'
import type { readAnalystRisks } from '../platform/db/analyst-logins.ts'
import type { Disk } from '../platform/db/database-health.ts'
import { blockerText, type listBlockers } from '../platform/db/database-health.ts'
import type { Generation } from '../platform/db/generations.ts'
import type { RedisFacts, StoreFacts } from '../platform/queue/queue-system.ts'
import type { listBreakers } from '../upstream/breaker/breaker-state.ts'
import { bad, type Check, type Checks, type Found, judge, warn } from './checks.ts'
import { isAlmostFull, LIMITS } from './limits.ts'
import type { StatusWarning } from './status-shapes.ts'
import { freeText, ofFares } from './warning-text.ts'

/** What takes more time than a status may: `doctor` reads it. A part that is unset was not read. */
export interface DoctorReading {
  readonly nowMs: number
  /** The parts that could not be read. */
  readonly faults: readonly { readonly part: string; readonly text: string }[]
  readonly database?: string | undefined
  readonly schema?: string | undefined
  readonly blockers?: Awaited<ReturnType<typeof listBlockers>> | undefined
  readonly roles?: AnalystRole | undefined
  readonly analysts?: Awaited<ReturnType<typeof readAnalystRisks>> | undefined
  /** How far other clocks are ahead of that of this machine. */
  readonly clocks?: { readonly databaseMs: number; readonly queueMs: number } | undefined
  readonly storage?: Storage | undefined
  /** Null: nothing is archived. `isLeft`: not all that is archived is deleted. */
  readonly floor?: { readonly since: Date; readonly isLeft: boolean } | null | undefined
  /** `isKnown`: whether the start after a restore would notice it. */
  readonly generation?: (Generation & { readonly isKnown: boolean }) | undefined
  readonly store?: StoreFacts | undefined
  /** Periodic work whose last run failed. */
  readonly failing?:
    | readonly { readonly name: string; readonly failure: string | null }[]
    | undefined
  readonly waiting?: readonly WaitingJobs[] | undefined
  readonly breakers?: ReturnType<typeof listBreakers> | undefined
  readonly pastDepartures?: number | undefined
  /** Schedules that this shell would write otherwise. */
  readonly differing?: readonly { readonly name: string; readonly says: string }[] | undefined
  readonly shell: ShellSettings
}

interface AnalystRole {
  readonly user: string
  readonly exists: boolean
  readonly member: boolean
  readonly readsPrivate: boolean
}

interface Storage {
  readonly databaseBytes: number
  readonly parts: readonly { readonly part: string; readonly bytes: number }[]
  /** Undefined where it cannot be seen. */
  readonly disk: Disk | undefined
  readonly days: number | null
}

interface WaitingJobs {
  readonly queue: string
  readonly waiting: number
  readonly waitedMs: number
}

/** What a farewatch that is started in this shell would do. */
interface ShellSettings {
  readonly usesSandbox: boolean
  readonly lacksToken: boolean
  readonly sendsTokenInClear: boolean
}

/** Workers start syncs and checks at once, so a job that waits longer has no worker. */
const WAIT_MS = 300_000

const FIRST = 'Correct this first: other checks depend on it.'

function faultOf({ faults }: DoctorReading, of: (part: string) => boolean): Found[] {
  return faults.filter(({ part }) => of(part)).map(({ text }) => bad(`${text}.`))
}

/** The parts whose faults have a code of their own. */
const OWN_FAULTS = ['database', 'schema', 'queue']
const SYSTEM = { about: 'work', runbook: 'doctor', command: 'doctor' } as const

const STORES: Checks<DoctorReading> = {
  database_down: {
    ...SYSTEM,
    runbook: 'database_trouble',
    wakes: true,
    todo: FIRST,
    find: (reading) => faultOf(reading, (part) => part === 'database'),
  },
  schema_wrong: {
    ...SYSTEM,
    command: 'migrate',
    todo: 'Migrate an old schema. For a newer one, use the newer version of farewatch.',
    find: (reading) => faultOf(reading, (part) => part === 'schema'),
  },
  queue_down: {
    ...SYSTEM,
    runbook: 'queue_down',
    todo: 'Start Redis, or correct REDIS_URL. No work is lost: the tables hold what is due.',
    find: (reading) => faultOf(reading, (part) => part === 'queue'),
  },
  not_examined: {
    ...SYSTEM,
    todo: FIRST,
    find: (reading) => faultOf(reading, (part) => !OWN_FAULTS.includes(part)),
  },
  session_blocks: {
    ...SYSTEM,
    runbook: 'database_trouble',
    command: 'psql',
    todo: 'If what it does is not needed, end it: select pg_terminate_backend(PID).',
    find: ({ blockers = [] }) =>
      blockers.map((one) => bad(`${blockerText(one)}.`, { subject: String(one.pid) })),
  },
  clock_wrong: {
    ...SYSTEM,
    runbook: 'clock_wrong',
    todo: 'Synchronize the clocks: timedatectl set-ntp true.',
    find: ({ clocks }) => {
      if (clocks === undefined || clocksApartMs(clocks) <= 1_000 * LIMITS.clockSeconds) return []
      const { databaseMs, queueMs } = clocks
      return [
        bad(
          `The clock of the database is ${aheadText(databaseMs)} that of this machine, that of the queue’s store is ${aheadText(queueMs)} it.`,
        ),
      ]
    },
  },
}

function clocksApartMs({ databaseMs, queueMs }: NonNullable<DoctorReading['clocks']>): number {
  return Math.round(Math.max(Math.abs(databaseMs), Math.abs(queueMs)))
}

const ANALYSTS: Checks<DoctorReading> = {
  analyst_role: {
    ...SYSTEM,
    command: 'migrate',
    todo: 'As an administrator: create role farewatch_analyst nologin, without rights on farewatch_private; grant it to the user of farewatch.',
    find: ({ roles }) => {
      if (roles === undefined) return []
      const { user, exists, member, readsPrivate } = roles
      if (!exists) return [bad('The role farewatch_analyst is missing.')]
      if (readsPrivate) return [bad('farewatch_analyst may use the private schema.')]
      if (member) return []
      return [warn(`"${user}" is not a member of farewatch_analyst: bin/farewatch sql is refused.`)]
    },
  },
  analysts_unlimited: {
    ...SYSTEM,
    command: 'psql',
    todo: 'As a superuser, run deploy/analyst-limits.sql in the database.',
    find: ({ analysts }) => {
      if (analysts === undefined || analysts.logins.length === 0) return []
      const { logins, mayLock, maySignal, mayStore, unlimited } = analysts
      const may = [
        ...(mayLock ? ['take advisory locks, which stop syncs, and store large objects'] : []),
        ...(mayStore ? ['make temporary tables'] : []),
        ...(maySignal
          ? []
          : ['lift their statement_timeout, and farewatch may not cancel their statements']),
        ...(unlimited.length > 0 ? ['write temporary files without a limit'] : []),
      ]
      if (may.length === 0) return []
      return [warn(`The logins of analysts (${logins.join(', ')}) may ${may.join('; may ')}.`)]
    },
  },
}

const HISTORY: Checks<DoctorReading> = {
  prune_unfinished: {
    ...SYSTEM,
    command: 'history prune --help',
    todo: 'If none runs now, run the last "bin/farewatch history prune" again.',
    find: ({ floor }) =>
      floor?.isLeft ? [warn('Not all rows are deleted that were archived.')] : [],
  },
  restore_unseen: {
    ...SYSTEM,
    command: 'restored --help',
    todo: 'After every restore, run "bin/farewatch restored" before the services start.',
    find: ({ generation }) =>
      generation?.isKnown === false
        ? [warn('The identity of the database cannot be read, so no start notices a restore.')]
        : [],
  },
}

/** A check of the settings of Redis. */
function redisCheck(
  todo: string,
  level: typeof bad,
  find: (redis: RedisFacts) => string | false,
): Check<DoctorReading> {
  return {
    ...SYSTEM,
    runbook: 'redis',
    todo,
    find: ({ store }) => {
      const text = store?.redis !== undefined && find(store.redis)
      return text ? [level(text)] : []
    },
  }
}

const REDIS: Checks<DoctorReading> = {
  redis_replica: redisCheck(
    'Point REDIS_URL at the primary.',
    bad,
    ({ replica }) => replica && 'Redis is a replica and refuses writes.',
  ),
  redis_disk: redisCheck(
    'Free some space on the disk of Redis.',
    bad,
    ({ writesFail }) => writesFail && 'Redis could not write to its disk.',
  ),
  redis_evicts: redisCheck(
    'Run redis-cli config set maxmemory-policy noeviction, and set it in the configuration of Redis.',
    bad,
    ({ evictionPolicy }) =>
      evictionPolicy !== 'noeviction' &&
      `Redis may evict jobs: maxmemory-policy is ${evictionPolicy}.`,
  ),
  redis_memory: redisCheck(
    'Give Redis more memory (maxmemory), or start more workers if jobs wait.',
    bad,
    ({ maxBytes, usedBytes }) =>
      maxBytes > 0 &&
      usedBytes > LIMITS.redisMemoryShare * maxBytes &&
      `Redis uses ${sizeText(usedBytes)} of ${sizeText(maxBytes)}.`,
  ),
  redis_forgets: redisCheck(
    'Run redis-cli config set appendonly yes, and set it in the configuration of Redis.',
    warn,
    ({ appendOnly }) =>
      !appendOnly &&
      'Redis keeps no append-only file: its restart loses jobs, which are then created again.',
  ),
}

const JOBS: Checks<DoctorReading> = {
  tick_failing: {
    ...SYSTEM,
    runbook: 'tick_failing',
    command: 'jobs list --queue periodic',
    todo: 'The log of the worker shows why: "job failed".',
    find: ({ failing = [] }) =>
      failing.map(({ name, failure }) =>
        bad(`Periodic work fails: "${name}", ${failure ?? 'no reason'}.`, { subject: name }),
      ),
  },
  jobs_waiting: {
    ...SYSTEM,
    runbook: 'work_stopped',
    command: 'status',
    todo: 'Start a worker, or more workers.',
    find: ({ waiting = [] }) =>
      waiting
        .filter(({ waitedMs }) => waitedMs > WAIT_MS)
        .map((one) =>
          bad(
            `${one.waiting} jobs of queue ${one.queue} wait, the oldest for ${durationText(one.waitedMs)}.`,
            { subject: one.queue },
          ),
        ),
  },
  schedule_differs: {
    ...SYSTEM,
    command: 'config',
    todo: 'Restart the workers, or correct the configuration of this shell.',
    find: ({ differing = [] }) => differing.map(({ name, says }) => warn(says, { subject: name })),
  },
}

const RECENT_MS = 60_000
/** Failures that successes have not outweighed. */
const TOLERATED = 2

/**
 * Calls that were refused or failed although their breaker is closed. A few failed calls are normal on a network, but
 * refusals are not: one of several processes may have an old credential. Lists are fetched too rarely for "recent".
 */
function recentFailures(reading: DoctorReading, kind: 'auth' | 'errors', what: string): Found[] {
  return (reading.breakers ?? []).flatMap((one) => {
    const { endpoint, breaker, open, failures, failedAtMs } = one
    if (breaker !== kind || open !== null || failedAtMs === null) return []
    const isUnusual = kind === 'auth' || failures >= TOLERATED
    const isRecent = reading.nowMs - failedAtMs <= RECENT_MS
    if (endpoint === 'lists' ? failures === 0 : !isUnusual || !isRecent) return []
    const text = `Calls of ${endpoint} ${what} now and then.`
    return [warn(text, { since: new Date(failedAtMs) })]
  })
}

const PROBE = { about: 'upstream', command: 'upstream probe' } as const

const UPSTREAM: Checks<DoctorReading> = {
  credential_refused: {
    ...PROBE,
    todo: 'If only one worker is refused, it has an old credential: restart it.',
    find: (reading) => recentFailures(reading, 'auth', 'were refused'),
  },
  calls_failing: {
    ...PROBE,
    todo: 'If the probe fails too, report it to the upstream.',
    find: (reading) => recentFailures(reading, 'errors', 'failed'),
  },
  token_in_clear: {
    ...PROBE,
    runbook: 'doctor',
    command: 'config',
    todo: 'Set UPSTREAM_BASE_URL to an https address.',
    find: ({ shell }) =>
      shell.sendsTokenInClear
        ? [warn('UPSTREAM_BASE_URL is http: anybody on the way can read the access token.')]
        : [],
  },
  shell_differs: {
    ...PROBE,
    runbook: 'doctor',
    command: 'config',
    todo: 'Set it in this shell too, or start farewatch elsewhere.',
    find: ({ shell: { usesSandbox, lacksToken } }) => [
      ...(usesSandbox
        ? [warn('UPSTREAM_BASE_URL is not set in this shell: what starts here uses the sandbox.')]
        : []),
      ...(!usesSandbox && lacksToken
        ? [warn('UPSTREAM_ACCESS_TOKEN is not set in this shell: what starts here checks no fare.')]
        : []),
    ],
  },
  departures_past: {
    about: 'fares',
    runbook: 'doctor',
    command:
      'sql "select fare_id, flight_id from farewatch.fares_current where last_reason = \'contract_violation\'"',
    todo: 'Report the answers to the upstream, or delete the watches of flights that are gone.',
    find: ({ pastDepartures = 0 }) =>
      pastDepartures === 0
        ? []
        : [
            warn(
              `The upstream answers with a departure in the past for ${ofFares(pastDepartures)}; nothing of that is believed.`,
            ),
          ],
  },
}

/** What only `doctor` finds wrong, by its code. What the status finds too has the same code. */
export const DOCTOR_CHECKS: Checks<DoctorReading> = {
  ...STORES,
  ...UPSTREAM,
  ...ANALYSTS,
  ...HISTORY,
  ...REDIS,
  ...JOBS,
}

export function doctorWarnings(reading: DoctorReading): StatusWarning[] {
  return judge(DOCTOR_CHECKS, reading)
}

/** What `doctor` has seen, and what it is about. */
export interface Fact {
  readonly about: string
  readonly text: string
}

/** What was read and is as it should be. */
export function factsOf(reading: DoctorReading): Fact[] {
  const { database, schema, roles, clocks, storage, floor, generation, store } = reading
  const areWell = clocks && clocksApartMs(clocks) <= 1_000 * LIMITS.clockSeconds
  const facts: readonly (readonly [string, string | false | null | undefined])[] = [
    ['database', database],
    ['schema', schema && `up to date: ${schema}`],
    [
      'roles',
      roles?.member &&
        `"${roles.user}" owns the tables, farewatch_analyst reads only the public SQL`,
    ],
    ['clock', areWell && `at most ${clocksApartMs(clocks)} ms apart`],
    ['disk', storage && storageText(storage)],
    ['history', floor && `complete since ${floor.since.toISOString()}; earlier rows are archived`],
    [
      'restores',
      generation &&
        (generation.number === 1
          ? 'the database was never restored'
          : `the last one was noticed at ${generation.beganAt.toISOString()}`),
    ],
    ['queue', store && storeText(store)],
  ]
  return facts.flatMap(([about, text]) => (text ? [{ about, text }] : []))
}

function storeText({ redis }: StoreFacts): string {
  if (redis === undefined) return 'in PostgreSQL'
  const { version, usedBytes, evictionPolicy, appendOnly } = redis
  const file = appendOnly ? 'append-only file' : 'no append-only file'
  return `in Redis ${version}: ${sizeText(usedBytes)}, ${evictionPolicy}, ${file}`
}

/** The size of the database with its largest parts, and the free space of its disk if that can be seen. */
function storageText({ databaseBytes, parts, disk, days }: Storage): string {
  const largest = parts.map(({ part, bytes }) => `${part.replaceAll('_', ' ')} ${sizeText(bytes)}`)
  const named = largest.length === 0 ? '' : ` (${largest.join(', ')})`
  const holds = `the database has ${sizeText(databaseBytes)}${named}`
  if (disk === undefined) return `${holds}; the free space of its disk cannot be seen from here`
  const full = days === null ? '' : `, enough for ${Math.floor(days)} days of its growth`
  return `${holds}; ${isAlmostFull(disk) ? 'only ' : ''}${freeText(disk)}${full}`
}

function sizeText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
