import packageJson from '../../../package.json' with { type: 'json' }
import { messageOf } from '../../base/errors.ts'
import { withTimeout } from '../../base/timeout.ts'
import { readStatus, type Status } from '../../verify/read/read-status.ts'
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
  examineRefusals,
  examineSchedules,
  examineUpstream,
} from './doctor-work.ts'

/** A store that does not answer within this time counts as down. */
const DEADLINE_MS = 10_000

/**
 * Checks everything that farewatch needs to work. It changes nothing and sends no request to the upstream.
 *
 * Never rejects: a check that fails is a finding. Checks that depend on something that is down are skipped, so that the
 * cause is not hidden among twenty findings.
 */
export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const database = await findingsOf('database', async () => [await examineDatabase(deps)])
  if (database.some(isWrong))
    return [...database, ...(await examineRedis(deps)), skipped('database')]
  const schema = await findingsOf('schema', async () => [await examineSchema(deps)])
  const store = await findingsOf('queue', () => examineStore(deps))
  const basics = [
    ...database,
    ...schema,
    ...(await findingsOf('roles', async () => [await examineRoles(deps)])),
    ...(await findingsOf('clock', async () => [await examineClock(deps)])),
    ...(await findingsOf('disk', async () => [await examineDisk(deps)])),
    ...store,
  ]
  const work = schema.some(isWrong) ? [skipped('schema')] : await examineWork(deps)
  return [...basics, ...(await examineJobs(deps, store)), ...work]
}

/** A queue in Redis may work while the database is down. */
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

/** The findings of a check, or the finding that the check failed. */
async function findingsOf(about: string, find: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await withTimeout(find(), DEADLINE_MS)
  } catch (err) {
    return [wrong(about, messageOf(err), 'correct this first: other checks depend on it')]
  }
}

function skipped(cause: string): Finding {
  return wrong(
    'the rest',
    `was not checked because of the ${cause}`,
    'correct that, then run bin/farewatch doctor again',
  )
}

export function isWrong({ level }: Finding): boolean {
  return level === 'wrong'
}
