import { messageOf } from '../../base/errors.ts'
import { durationText } from '../../base/text.ts'
import type { QueuedJob, RedisFacts, StoreFacts } from '../../queue/queue-system.ts'
import { failingTicks, JOB_QUEUES, lastTickOf, readDepth } from '../queue-state.ts'
import { type DoctorDeps, type Finding, look, ok, wrong } from './doctor-finding.ts'

/** The shortest tick comes every second; the longest pause of a healthy system is a restart. */
const TICK_SILENCE_MS = 60_000
/** Syncs and checks are taken at once, unless nobody takes them. */
const WAIT_MS = 300_000
const MEMORY_SHARE = 0.9

/** Whether the queue's store answers, and keeps what it is given. */
export async function examineStore({ queue }: DoctorDeps): Promise<Finding[]> {
  try {
    return storeFindings(await queue.facts())
  } catch (err) {
    return [wrong('queue', messageOf(err), 'the jobs are owed by our tables: nothing is lost')]
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
    says: () => 'Redis is a replica: it refuses to be written',
    todo: 'point REDIS_URL at the primary',
  },
  {
    holds: ({ writesFail }) => writesFail,
    level: wrong,
    says: () => 'Redis could not write to its disk',
    todo: 'make room where Redis keeps its files',
  },
  {
    holds: ({ evictionPolicy }) => evictionPolicy !== 'noeviction',
    level: wrong,
    says: ({ evictionPolicy }) => `Redis may evict jobs: maxmemory-policy is ${evictionPolicy}`,
    todo: 'redis-cli config set maxmemory-policy noeviction, and in its configuration',
  },
  {
    holds: ({ maxBytes, usedBytes }) => maxBytes > 0 && usedBytes > MEMORY_SHARE * maxBytes,
    level: wrong,
    says: ({ maxBytes, usedBytes }) =>
      `Redis uses ${megabytes(usedBytes)} of ${megabytes(maxBytes)}`,
    todo: 'give Redis more memory: maxmemory',
  },
  {
    holds: ({ appendOnly }) => !appendOnly,
    level: look,
    says: () =>
      'Redis keeps no append-only file: its restart forgets jobs, which are then made anew',
    todo: 'redis-cli config set appendonly yes, and in its configuration',
  },
]

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** Whether somebody works: ticks end, and what is enqueued is taken. */
export async function examineProgress(deps: DoctorDeps): Promise<Finding[]> {
  return [...(await examineTicks(deps)), await examineWaiting(deps)]
}

async function examineTicks({ app, queue }: DoctorDeps): Promise<Finding[]> {
  const start =
    'is a worker running? bin/farewatch worker, or bin/farewatch up; a running one tells why at its /readyz and /livez'
  const last = await lastTickOf(queue)
  if (last === undefined) return [wrong('workers', 'no tick has ever ended: no worker runs', start)]
  const now = app.clock.now()
  const silentMs = now.getTime() - last.at.getTime()
  if (silentMs > TICK_SILENCE_MS) {
    return [wrong('workers', `no tick has ended for ${durationText(silentMs)}`, start)]
  }
  const failing = await failingTicks(queue, now)
  if (failing.length === 0) {
    return [ok('workers', `the last tick ended ${durationText(silentMs)} ago`)]
  }
  const todo = 'the log of the worker tells more; bin/farewatch jobs list --queue ticks'
  return failing.map(({ name, failure }) =>
    wrong('workers', `ticks fail: "${name}", ${failure ?? ''}`, todo),
  )
}

async function examineWaiting({ app, queue }: DoctorDeps): Promise<Finding> {
  const now = app.clock.now().getTime()
  const told: string[] = []
  for (const name of JOB_QUEUES) {
    const { waiting, active } = await queue.counts(name)
    const [oldest] = waiting === 0 ? [] : await queue.jobs(name, 'waiting', 1)
    const waitedMs = oldest === undefined ? 0 : now - oldest.enqueuedAt.getTime()
    if (waitedMs > WAIT_MS) {
      const says = `${waiting} jobs of ${name} wait, the oldest for ${durationText(waitedMs)}`
      return wrong(
        'waiting jobs',
        says,
        'start a worker, or more of them; bin/farewatch status shows whether they move',
      )
    }
    told.push(`${name}: ${waiting} waiting, ${active} active`)
  }
  return ok('waiting jobs', told.join('; '))
}

/** What no worker will try again. Ticks are left out: one that failed is made up for by the next. */
export async function examineDeadJobs({ app, queue }: DoctorDeps): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of JOB_QUEUES) {
    const { dead } = await readDepth(queue, name)
    const [newest] = dead === 0 ? [] : await queue.jobs(name, 'dead', 1)
    if (newest === undefined) continue
    const says = `${dead} of ${name}, the newest ${agoText(newest, app.clock.now())}: ${newest.failure ?? ''}`
    const todo = `bin/farewatch jobs list --queue ${name}; then bin/farewatch jobs retry ${name} --all, or drop`
    findings.push(wrong('dead jobs', says, todo))
  }
  return findings.length > 0 ? findings : [ok('dead jobs', 'none')]
}

function agoText({ endedAt }: QueuedJob, now: Date): string {
  return endedAt === null ? '' : `${durationText(now.getTime() - endedAt.getTime())} ago`
}
