import packageJson from '../../../package.json' with { type: 'json' }
import { messageOf } from '../../base/errors.ts'
import { withTimeout } from '../../base/timeout.ts'
import { readStatus, type Status } from '../../verify/read/read-status.ts'
import { examineRefusals } from './doctor-credential.ts'
import {
  examineClock,
  examineDatabase,
  examineDisk,
  examineRoles,
  examineSchema,
} from './doctor-database.ts'
import { type DoctorDeps, type Finding, wrong } from './doctor-finding.ts'
import { examineDeadJobs, examineProgress, examineStore } from './doctor-queue.ts'
import {
  examineBeliefs,
  examineBudget,
  examineHeldRuns,
  examineIncidents,
  examineSchedules,
  examineUpstream,
} from './doctor-work.ts'

/** A store that does not answer by then is as bad as one that is away: the doctor is asked by somebody in a hurry. */
const DEADLINE_MS = 10_000

/**
 * Looks at everything that has to be well for farewatch to work, changes nothing, and asks the upstream nothing.
 *
 * Never rejects: whatever cannot be looked at is a finding. What stands on something that is away is left out, so
 * that the line that matters is not one of twenty.
 */
export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const database = await findingsOf('database', async () => [await examineDatabase(deps)])
  if (database.some(isWrong))
    return [...database, ...(await examineRedis(deps)), notLookedAt('database')]
  const schema = await findingsOf('schema', async () => [await examineSchema(deps)])
  const store = await findingsOf('queue', () => examineStore(deps))
  const ground = [
    ...database,
    ...schema,
    ...(await findingsOf('roles', async () => [await examineRoles(deps)])),
    ...(await findingsOf('clock', async () => [await examineClock(deps)])),
    ...(await findingsOf('disk', async () => [await examineDisk(deps)])),
    ...store,
  ]
  const work = schema.some(isWrong) ? [notLookedAt('schema')] : await examineWork(deps)
  return [...ground, ...(await examineJobs(deps, store)), ...work]
}

/** The queue in Redis answers though the database does not. */
async function examineRedis(deps: DoctorDeps): Promise<Finding[]> {
  return deps.queue.kind === 'redis' ? findingsOf('queue', () => examineStore(deps)) : []
}

async function examineJobs(deps: DoctorDeps, store: readonly Finding[]): Promise<Finding[]> {
  if (store.some(isWrong)) return []
  return [
    ...(await findingsOf('workers', () => examineProgress(deps))),
    ...(await findingsOf('dead jobs', () => examineDeadJobs(deps))),
  ]
}

async function examineWork(deps: DoctorDeps): Promise<Finding[]> {
  const { database, clock, config } = deps.app
  let status: Status | undefined
  const read = await findingsOf('status', async () => {
    const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
    status = await readStatus({
      db: database.db,
      clock,
      requestsPerSecond,
      version: packageJson.version,
    })
    return []
  })
  const known = status
  if (known === undefined) return read
  return [
    ...(await findingsOf('schedules', () => examineSchedules(deps, known))),
    ...examineHeldRuns(known),
    ...examineUpstream(deps, known),
    ...(await findingsOf('credential', () => examineRefusals(deps))),
    ...examineBudget(known),
    ...examineBeliefs(known),
    ...examineIncidents(known),
  ]
}

/** What a look finds; where it fails, that it failed. */
async function findingsOf(about: string, find: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await withTimeout(find(), DEADLINE_MS)
  } catch (err) {
    return [wrong(about, messageOf(err), 'mend this first: much else stands on it')]
  }
}

function notLookedAt(before: string): Finding {
  return wrong(
    'the rest',
    `is not looked at before the ${before} is well`,
    'bin/farewatch doctor, once more',
  )
}

export function isWrong({ level }: Finding): boolean {
  return level === 'wrong'
}
