import packageJson from '../../../package.json' with { type: 'json' }
import { withTimeout } from '../../platform/base/clock.ts'
import { messageOf } from '../../platform/base/errors.ts'
import { readStatus } from '../../views/status-operations.ts'
import type { Status } from '../../views/status-shapes.ts'
import { verifyRulesOf } from '../settings-for.ts'
import {
  examineAnalysts,
  examineClock,
  examineDatabase,
  examineDisk,
  examineLocks,
  examinePrune,
  examineRestores,
  examineRoles,
  examineSchema,
} from './doctor-database.ts'
import { type DoctorDeps, type Finding, wrong } from './doctor-finding.ts'
import { examineDeadJobs, examineProcesses, examineProgress, examineStore } from './doctor-queue.ts'
import { examineUpstream } from './doctor-upstream.ts'
import {
  examineBeliefs,
  examineBudget,
  examineDeliveries,
  examineDepartures,
  examineHeld,
  examineHeldRuns,
  examineIncidents,
  examineMaxDelays,
  examinePauses,
  examineSchedules,
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
  const locks = await findingsOf('locks', () => examineLocks(deps))
  const schema = await findingsOf('schema', async () => [await examineSchema(deps)])
  const { first, rest } = schema.some(isWrong)
    ? { first: [], rest: [skipped('schema')] }
    : await examineWork(deps)
  const store = await findingsOf('queue', () => examineStore(deps))
  const basics = [
    ...database,
    ...locks,
    ...schema,
    ...first,
    ...(await findingsOf('roles', async () => [await examineRoles(deps)])),
    ...(await findingsOf('analysts', () => examineAnalysts(deps))),
    ...(await findingsOf('clock', async () => [await examineClock(deps)])),
    ...(await findingsOf('disk', async () => [await examineDisk(deps)])),
    ...(await findingsOf('prune', () => examinePrune(deps))),
    ...(await findingsOf('restores', async () => [await examineRestores(deps)])),
    ...store,
  ]
  return [...basics, ...(await examineJobs(deps, store)), ...rest]
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

/** The state of the upstream comes first: if it refuses our credential, most of the rest follows from that. */
async function examineWork(deps: DoctorDeps): Promise<{ first: Finding[]; rest: Finding[] }> {
  const { database, clock, config } = deps.app
  let status: Status | undefined
  const read = await findingsOf('status', async () => {
    const { db } = database
    const deps = { db, clock, ...verifyRulesOf(config), version: packageJson.version }
    status = await readStatus(deps)
    return []
  })
  const known = status
  if (known === undefined) return { first: read, rest: [] }
  return {
    first: [
      ...(await findingsOf('upstream', () => examineUpstream(deps, known))),
      ...(await findingsOf('processes', () => examineProcesses(deps))),
    ],
    rest: [
      ...examinePauses(known),
      ...(await findingsOf('schedules', () => examineSchedules(deps, known))),
      ...examineHeldRuns(known),
      ...examineBudget(known),
      ...examineMaxDelays(known),
      ...examineBeliefs(known),
      ...(await findingsOf('departures', () => examineDepartures(deps))),
      ...examineIncidents(known),
      ...examineHeld(known),
      ...(await findingsOf('deliveries', () => examineDeliveries(deps, known))),
    ],
  }
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
