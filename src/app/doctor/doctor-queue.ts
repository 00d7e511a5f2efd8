import { messageOf } from '../../platform/base/errors.ts'
import { durationText } from '../../platform/base/text.ts'
import type { QueuedJob, RedisFacts, StoreFacts } from '../../platform/queue/queue-system.ts'
import { hasWrongClock, isTickLate, isWithoutProgress, LIMITS } from '../../views/status-limits.ts'
import { missingRoles } from '../../views/work-warnings.ts'
import { listProcesses } from '../processes.ts'
import { type LastRun, listLastRuns, QUEUES, readDepth } from '../queue-state.ts'
import { processText } from '../state-text.ts'
import { SYNCHRONIZE } from './doctor-database.ts'
import { type DoctorDeps, type Finding, ok, warning, wrong } from './doctor-finding.ts'

/** Workers start syncs and checks at once, so a job that waits longer has no worker. */
const WAIT_MS = 300_000
const DAY_MS = 86_400_000

/** Whether the store of the queue answers and does not lose jobs. */
export async function examineStore({ queue }: DoctorDeps): Promise<Finding[]> {
  try {
    return storeFindings(await queue.facts())
  } catch (err) {
    return [wrong('queue', messageOf(err), 'no work is lost: the tables hold what is due')]
  }
}

function storeFindings({ redis }: StoreFacts): Finding[] {
  if (redis === undefined) return [ok('queue', 'in PostgreSQL')]
  const faults = REDIS_FAULTS.filter(({ holds }) => holds(redis)).map(({ level, says, todo }) =>
    level('queue', says(redis), todo),
  )
  if (faults.length > 0) return faults
  const { version, usedBytes } = redis
  return [ok('queue', `in Redis ${version}: ${megabytes(usedBytes)}, noeviction, append-only file`)]
}

interface RedisFault {
  readonly holds: (redis: RedisFacts) => boolean
  readonly level: typeof wrong
  readonly says: (redis: RedisFacts) => string
  readonly todo: string
}

const REDIS_FAULTS: readonly RedisFault[] = [
  {
    holds: ({ replica }) => replica,
    level: wrong,
    says: () => 'Redis is a replica and refuses writes',
    todo: 'point REDIS_URL at the primary',
  },
  {
    holds: ({ writesFail }) => writesFail,
    level: wrong,
    says: () => 'Redis could not write to its disk',
    todo: 'free some space on the disk of Redis',
  },
  {
    holds: ({ evictionPolicy }) => evictionPolicy !== 'noeviction',
    level: wrong,
    says: ({ evictionPolicy }) => `Redis may evict jobs: maxmemory-policy is ${evictionPolicy}`,
    todo: 'run redis-cli config set maxmemory-policy noeviction, and set it in the configuration of Redis',
  },
  {
    holds: ({ maxBytes, usedBytes }) =>
      maxBytes > 0 && usedBytes > LIMITS.redisMemoryShare * maxBytes,
    level: wrong,
    says: ({ maxBytes, usedBytes }) =>
      `Redis uses ${megabytes(usedBytes)} of ${megabytes(maxBytes)}`,
    todo: 'give Redis more memory: maxmemory',
  },
  {
    holds: ({ appendOnly }) => !appendOnly,
    level: warning,
    says: () =>
      'Redis keeps no append-only file: its restart loses jobs, which are then created again',
    todo: 'run redis-cli config set appendonly yes, and set it in the configuration of Redis',
  },
]

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** The processes of all hosts, and which of them make no progress or have a wrong clock. */
export async function examineProcesses({ app }: DoctorDeps): Promise<Finding[]> {
  const now = app.clock.now()
  const known = await listProcesses(app.database.db)
  const missing = known.length === 0 ? [] : missingRoles(known, now)
  const start = (role: string) =>
    wrong('processes', `no process has the role ${role}`, `bin/farewatch worker --roles ${role}`)
  const found = known.map((one) => {
    const says = processText(one, now)
    if (hasWrongClock(one, now)) return wrong('clock', says, SYNCHRONIZE)
    if (!isWithoutProgress(one, now)) return ok('processes', says)
    const todo =
      'it was killed, hangs, or has lost the database: restart it. The entry ends when its host starts it again, or after a day'
    return warning('processes', says, todo)
  })
  return [...missing.map(start), ...found]
}

/** Whether workers run: periodic work ends, and enqueued jobs start. */
export async function examineProgress(deps: DoctorDeps): Promise<Finding[]> {
  return [...(await examinePeriodic(deps)), await examineWaiting(deps)]
}

/** So many runs cover a day of the rarest work and some minutes of the rest. */
const RUNS_READ = 1_000

async function examinePeriodic({ app, queue }: DoctorDeps): Promise<Finding[]> {
  const start =
    'start bin/farewatch worker or bin/farewatch up; /readyz and /livez of a running worker show the cause'
  const runs = await listLastRuns(queue, RUNS_READ)
  const [last] = runs
  if (last === undefined) {
    return [wrong('workers', 'no periodic work has ever ended: no worker runs', start)]
  }
  const now = app.clock.now()
  const sinceMs = now.getTime() - last.at.getTime()
  if (isTickLate(last.at, now)) {
    return [wrong('workers', `no periodic work has ended for ${durationText(sinceMs)}`, start)]
  }
  const failing = failingNow(runs, now)
  if (failing.length === 0) {
    return [ok('workers', `the last periodic work ended ${durationText(sinceMs)} ago`)]
  }
  const todo = 'see the log of the worker: "job failed"'
  return failing.map(({ name, failure }) =>
    wrong('workers', `periodic work fails: "${name}", ${failure ?? ''}`, todo),
  )
}

/** The work whose last run failed. That of another version may never run again. */
function failingNow(runs: readonly LastRun[], now: Date): LastRun[] {
  const byName = Map.groupBy(runs, ({ name }) => name).values()
  const lastOfEach = [...byName].flatMap(([last]) => (last === undefined ? [] : [last]))
  return lastOfEach.filter(
    ({ failure, at }) => failure !== null && now.getTime() - at.getTime() < DAY_MS,
  )
}

async function examineWaiting({ app, queue }: DoctorDeps): Promise<Finding> {
  const now = app.clock.now().getTime()
  const counts: string[] = []
  for (const name of QUEUES) {
    const { waiting, active } = await queue.counts(name)
    const [oldest] = waiting === 0 ? [] : await queue.jobs(name, 'waiting', 1)
    const waitedMs = oldest === undefined ? 0 : now - oldest.enqueuedAt.getTime()
    if (waitedMs > WAIT_MS) {
      const says = `${waiting} jobs of queue ${name} wait, the oldest for ${durationText(waitedMs)}`
      return wrong(
        'waiting jobs',
        says,
        'start a worker, or more workers; bin/farewatch status shows the progress',
      )
    }
    counts.push(`${name}: ${waiting} waiting, ${active} active`)
  }
  return ok('waiting jobs', counts.join('; '))
}

/** Jobs without attempts left. */
export async function examineDeadJobs({ app, queue }: DoctorDeps): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of QUEUES) {
    const { dead } = await readDepth(queue, name)
    const [newest] = dead === 0 ? [] : await queue.jobs(name, 'dead', 1)
    if (newest === undefined) continue
    const says = `${dead} of ${name}, the newest ${agoText(newest, app.clock.now())}: ${newest.failure ?? ''}`
    const todo = `bin/farewatch jobs list --queue ${name}; then bin/farewatch jobs retry ${name} --all, or jobs drop`
    findings.push(wrong('dead jobs', says, todo))
  }
  return findings.length > 0 ? findings : [ok('dead jobs', 'none')]
}

function agoText({ endedAt }: QueuedJob, now: Date): string {
  return endedAt === null ? '' : `${durationText(now.getTime() - endedAt.getTime())} ago`
}
