import { listBreakers } from '../../upstream/breaker/breaker-state.ts'
import { readHealth } from '../../upstream/breaker/circuit-breaker.ts'
import type { Status } from '../../views/status-shapes.ts'
import { IN_CLEAR, sendsTokenInClear } from '../settings-for.ts'
import { breakerText } from '../state-text.ts'
import { type DoctorDeps, type Finding, ok, warning, wrong } from './doctor-finding.ts'

/**
 * Whether the upstream accepts our credential and answers, by the state that all processes share. Sends no request.
 *
 * The shared state counts, not the configuration of this shell: `up` uses a sandbox of its own, and a shell may
 * lack the settings of the workers.
 */
export async function examineUpstream(deps: DoctorDeps, status: Status): Promise<Finding[]> {
  const { upstream } = status
  const seen = [...breakerFindings(status), ...(await examineRecentCalls(deps))]
  const findings = [...seen, ...settingFindings(deps, status), ...examineEncryption(deps)]
  // During a pause the finding about the budget says until when.
  if (findings.length > 0 || upstream.pausedUntil !== null) return findings
  return [ok('upstream', 'no calls fail'), ok('credential', 'set, and not refused')]
}

function breakerFindings({ upstream, at }: Status): Finding[] {
  return upstream.openBreakers.map((open) => {
    const { endpoint, breaker } = open
    const since = breakerText(open, at)
    return breaker === 'auth'
      ? wrong(
          'credential',
          `the upstream refuses it for ${endpoint}${since}; only probes are sent`,
          'write a new one into the file of UPSTREAM_ACCESS_TOKEN_FILE, which is read again; or set UPSTREAM_ACCESS_TOKEN and restart. Test it with bin/farewatch upstream probe --flight ID',
        )
      : wrong(
          'upstream',
          `calls to ${endpoint} fail${since}; only probes are sent`,
          'bin/farewatch upstream probe --flight ID',
        )
  })
}

export function examineEncryption({ app }: DoctorDeps): Finding[] {
  if (!sendsTokenInClear(app.config)) return []
  return [warning('credential', IN_CLEAR, 'set UPSTREAM_BASE_URL to an https address')]
}

function settingFindings({ given }: DoctorDeps, { beliefs }: Status): Finding[] {
  if (given.UPSTREAM_BASE_URL === undefined) {
    const says =
      'UPSTREAM_BASE_URL is not set in this shell: a farewatch that is started here uses the sandbox'
    return [warning('upstream', says, 'set it to get real fares')]
  }
  if (given.UPSTREAM_ACCESS_TOKEN !== undefined) return []
  const level = beliefs.fares > 0 ? wrong : warning
  const says = 'UPSTREAM_ACCESS_TOKEN is not set: fares cannot be checked'
  return [level('credential', says, 'set it, or UPSTREAM_ACCESS_TOKEN_FILE')]
}

/**
 * Whether calls of the last minute were refused or failed although the circuit breaker is closed. Refusals: either the
 * upstream refuses calls now and then, or one of several processes has an old credential.
 */
async function examineRecentCalls({ app }: DoctorDeps): Promise<Finding[]> {
  const { breakers, nowMs } = await readHealth(app.database.db)
  return listBreakers(breakers).flatMap(({ endpoint, breaker, open, failures, failedAtMs }) => {
    if (open !== null || failedAtMs === null) return []
    // A few failed calls are normal on a network. Refusals are not.
    const isUnusual = breaker === 'auth' || failures >= TOLERATED
    // Lists are fetched too rarely for "recent": what the last fetches were counts.
    const isReported =
      endpoint === 'lists' ? failures > 0 : isUnusual && nowMs - failedAtMs <= RECENT_MS
    if (!isReported) return []
    const last = `the last one at ${new Date(failedAtMs).toISOString()}`
    return [
      breaker === 'auth'
        ? warning('credential', `the upstream refused calls to ${endpoint}, ${last}`, REFUSED_TODO)
        : warning('upstream', `calls to ${endpoint} failed, ${last}`, PROBE_TODO),
    ]
  })
}

const RECENT_MS = 60_000
/** Failures that successes have not outweighed. */
const TOLERATED = 2
const PROBE_TODO = 'bin/farewatch upstream probe --flight ID'
const REFUSED_TODO =
  'bin/farewatch upstream probe --flight ID; if only one worker is refused, it has an old credential: restart it'
