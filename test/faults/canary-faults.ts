import { expect } from 'vitest'
import {
  FAULT_NAMES,
  FAULTS,
  type FaultName,
  type FaultRule,
} from '../../sandbox/faults/fault-rule.ts'
import { sql } from '../../src/platform/db/database.ts'
import { makeListsDue } from '../chaos/steps.ts'
import { until } from '../support/until.ts'
import type { CanaryFixture } from './canary-fixture.ts'

const QUOTED: readonly FaultRule[] = [200, 302, 400, 404, 500, 502, 503].map((code) => ({
  name: 'echo-request',
  endpoint: 'verify',
  code,
}))

/** Each of these faults stops all calls, so they are tested one at a time. */
const CLOSING: readonly FaultRule[] = [
  { name: 'echo-request', endpoint: 'verify', code: 401 },
  { name: 'echo-request', endpoint: 'verify', code: 403 },
  { name: 'echo-request', endpoint: 'verify', code: 429 },
  { name: 'login-page', endpoint: 'verify' },
]
const CLOSES = new Set(['rate-limited', 'token-expired', 'login-page', 'echo-request'])

/** Large enough to be refused. */
const SMALL: Partial<Record<FaultName, Readonly<Record<string, number>>>> = {
  'gzip-bomb': { megabytes: 4 },
  'huge-body': { megabytes: 4 },
  'many-fields': { fields: 200_000 },
}

/** Every fault of verify answers, except faults that open a breaker. */
function verifyRules(): FaultRule[] {
  const others = FAULT_NAMES.filter((name) => FAULTS[name].endpoints.includes('verify'))
    .filter((name) => !CLOSES.has(name))
    .map((name): FaultRule => ({ name, endpoint: 'verify', ...SMALL[name] }))
  return [...QUOTED, ...others]
}

/** Gives each rule an equal share of the requests. The sandbox tries rules in order. */
function inShares(rules: readonly FaultRule[]): FaultRule[] {
  return rules.map((rule, at) => ({ ...rule, probability: 1 / (rules.length - at) }))
}

/** Short enough to lose little time to an open breaker, and long enough not to slow the work. */
const POLL_EVERY_MS = 250

/** Answers to the worker's own syncs. Their jobs fail and are retried. */
const OF_LISTS: readonly FaultRule[] = [
  { name: 'echo-request', endpoint: 'routes', code: 500 },
  { name: 'echo-request', endpoint: 'with-availability', code: 503 },
]

/** Lets the worker receive every fault of a verify answer at least once, and quoted requests for its lists. */
export async function meetEveryFault(fixture: CanaryFixture): Promise<void> {
  await makeListsDue(fixture.db)
  await meet(fixture, verifyRules())
  for (const rule of CLOSING) await meet(fixture, [rule])
  await until('syncs that failed', async () => {
    const { rows } = await sql`
      select distinct list from sync_run where status = 'rejected' and reason_code = 'upstream.http_5xx'
    `.execute(fixture.db)
    return rows.length === 2
  })
  fixture.sandbox.setFaults([])
}

/** Rules that have been applied are removed, so that the others are applied more often. */
async function meet(fixture: CanaryFixture, rules: readonly FaultRule[]): Promise<void> {
  let left = rules
  let polledMs = 0
  await until('every fault was applied', async () => {
    if (Date.now() - polledMs < POLL_EVERY_MS) return false
    if (polledMs > 0) left = await unmet(fixture, left)
    polledMs = Date.now()
    fixture.sandbox.setFaults([...inShares(left), ...OF_LISTS])
    await fixture.reset()
    return left.length === 0
  }).catch((err: unknown) => {
    throw new Error(`never applied: ${JSON.stringify(left)}`, { cause: err })
  })
}

/** The sandbox lists its rules in their order. */
async function unmet(
  { sandbox }: CanaryFixture,
  rules: readonly FaultRule[],
): Promise<FaultRule[]> {
  const response = await fetch(`${sandbox.url}/sandbox/faults`)
  const { faults } = (await response.json()) as { faults: { readonly triggered: number }[] }
  return rules.filter((_rule, at) => faults[at]?.triggered === 0)
}

/** Makes a job of the worker fail by an error of ours, while every answer quotes its request. */
export async function failAJob(fixture: CanaryFixture): Promise<void> {
  const { db, worker, sandbox } = fixture
  sandbox.setFaults([{ name: 'echo-request', endpoint: 'verify', code: 500 }])
  const failed = () => worker.stdout().split('"msg":"job failed"').length
  const before = failed()
  await sql`alter table farewatch_private.fare_state rename to elsewhere`.execute(db)
  await fixture.reset()
  await until('a failed job', () => failed() > before)
  await sql`alter table farewatch_private.elsewhere rename to fare_state`.execute(db)
  sandbox.setFaults([])
}

const at = (endpoint: FaultRule['endpoint'], name: FaultRule['name'], code?: number) =>
  ({ name, endpoint, ...(code === undefined ? {} : { code }) }) as FaultRule

/** The faults for the commands that call the upstream: another fault for each endpoint, and in each round. */
const ROUNDS: readonly (readonly FaultRule[])[] = [
  [
    at('routes', 'echo-request', 500),
    at('with-availability', 'redirect'),
    at('csv', 'login-page'),
    at('verify', 'echo-request', 200),
  ],
  [
    at('routes', 'login-page'),
    at('with-availability', 'echo-request', 401),
    at('csv', 'echo-request', 200),
    at('verify', 'redirect'),
  ],
]

/** Runs the commands that call the upstream, with faults. */
export async function callByCommand(fixture: CanaryFixture): Promise<void> {
  const { sandbox, flight, run } = fixture
  for (const rules of ROUNDS) {
    sandbox.setFaults(rules)
    await fixture.idle()
    const [probe, sync, verify] = await Promise.all([
      run('upstream', 'probe', '--flight', flight, '--negative'),
      run('sync', '--json'),
      run('verify', '--flight', flight, '--non-residents-adults', '1', '--json'),
    ])
    expect([probe.exit, sync.exit, verify.exit]).toEqual([1, 1, 1])
  }
  sandbox.setFaults([])
}
