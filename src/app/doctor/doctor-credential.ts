import { durationText } from '../../base/text.ts'
import { ENDPOINT_GROUPS } from '../../upstream/breaker/breaker-state.ts'
import { readHealth } from '../../upstream/breaker/breaker-store.ts'
import { type DoctorDeps, type Finding, look } from './doctor-finding.ts'

const LATELY_MS = 600_000

/**
 * Whether the credential was refused a moment ago, though it is not now: beside processes that are let in, one that has
 * an old credential is refused at each of its calls, and each time the others go on.
 */
export async function examineRefusals({ app }: DoctorDeps): Promise<Finding[]> {
  const { breakers, nowMs } = await readHealth(app.database.db)
  return ENDPOINT_GROUPS.flatMap((endpoint) => {
    const { open, closedAtMs } = breakers[endpoint].auth
    const agoMs = closedAtMs === null ? Number.POSITIVE_INFINITY : nowMs - closedAtMs
    if (open !== null || agoMs > LATELY_MS) return []
    const says = `the upstream refused one for ${endpoint} until ${durationText(Math.max(0, agoMs))} ago`
    const todo =
      'bin/farewatch doctor, once more: where this stays, a worker has an old one; restart it'
    return [look('credential', says, todo)]
  })
}
