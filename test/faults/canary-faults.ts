import { expect } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { FAULT_NAMES, FAULTS, type FaultRule } from '../../src/sandbox/faults/fault-rule.ts'
import { until } from '../support/until.ts'
import type { CanaryGround } from './canary-ground.ts'
import { ruleOf } from './fault-case.ts'
import { FAULT_CASES } from './fault-cases.ts'

const QUOTED: readonly FaultRule[] = [200, 302, 400, 404, 500, 502, 503].map((code) => ({
  name: 'echo-request',
  endpoint: 'verify',
  code,
}))

/** What stops all calls where it is met: each has its turn alone. */
const CLOSING: readonly FaultRule[] = [
  { name: 'echo-request', endpoint: 'verify', code: 401 },
  { name: 'echo-request', endpoint: 'verify', code: 403 },
  { name: 'echo-request', endpoint: 'verify', code: 429 },
  { name: 'login-page', endpoint: 'verify' },
]
const CLOSES = new Set(['rate-limited', 'token-expired', 'login-page', 'echo-request'])

/** Every fault that can strike a verify answer in every form of the table, but for what closes the breaker. */
function verifyRules(): FaultRule[] {
  const ofTable = FAULT_NAMES.filter((name) => FAULTS[name].endpoints.includes('verify'))
    .filter((name) => !CLOSES.has(name))
    .flatMap((name) => FAULT_CASES[name].filter(({ verify }) => verify).map((c) => ruleOf(name, c)))
    .filter(({ code }) => code !== 401 && code !== 403)
    .map((rule) => ({ ...rule, endpoint: 'verify' as const }))
  return [...QUOTED, ...ofTable]
}

/** One of each alike: of those that are tried in order each falls on an equal share of the requests. */
function inShares(rules: readonly FaultRule[]): FaultRule[] {
  return rules.map((rule, at) => ({ ...rule, probability: 1 / (rules.length - at) }))
}

/** So often that a closed breaker costs less than a turn, and so rarely that it is not the work itself. */
const LOOK_EVERY_MS = 250

/** Answers that the worker's own syncs get meanwhile: their jobs fail, and are to be tried again. */
const OF_LISTS: readonly FaultRule[] = [
  { name: 'echo-request', endpoint: 'routes', code: 500 },
  { name: 'echo-request', endpoint: 'with-availability', code: 503 },
]

/** Lets the worker meet every fault of a verify answer at least once, and a quoted request where it asks for a list. */
export async function meetEveryFault(ground: CanaryGround): Promise<void> {
  await sql`update schedule set next_due_at = clock_timestamp()`.execute(ground.db)
  await meet(ground, verifyRules())
  for (const rule of CLOSING) await meet(ground, [rule])
  await until('syncs that failed', async () => {
    const { rows } = await sql`
      select distinct list from sync_run where status = 'rejected' and reason_code = 'upstream.http_5xx'
    `.execute(ground.db)
    return rows.length === 2
  })
  ground.sandbox.setFaults([])
}

/** Those that were met make way for the others. */
async function meet(ground: CanaryGround, rules: readonly FaultRule[]): Promise<void> {
  let left = rules
  let lookedMs = 0
  await until('every fault struck', async () => {
    if (Date.now() - lookedMs < LOOK_EVERY_MS) return false
    if (lookedMs > 0) left = await unmet(ground, left)
    lookedMs = Date.now()
    ground.sandbox.setFaults([...inShares(left), ...OF_LISTS])
    await ground.forget()
    return left.length === 0
  }).catch((err: unknown) => {
    throw new Error(`never struck: ${JSON.stringify(left)}`, { cause: err })
  })
}

/** The sandbox tells of its rules in their order. */
async function unmet({ sandbox }: CanaryGround, rules: readonly FaultRule[]): Promise<FaultRule[]> {
  const response = await fetch(`${sandbox.url}/sandbox/faults`)
  const { faults } = (await response.json()) as { faults: { readonly struck: number }[] }
  return rules.filter((_rule, at) => faults[at]?.struck === 0)
}

/** Lets a job of the worker fail by our own fault, while every answer quotes its request. */
export async function failAJob(ground: CanaryGround): Promise<void> {
  const { db, worker, sandbox } = ground
  sandbox.setFaults([{ name: 'echo-request', endpoint: 'verify', code: 500 }])
  const failed = () => worker.stdout().split('"msg":"job failed"').length
  const before = failed()
  await sql`alter table farewatch_private.fare_state rename to elsewhere`.execute(db)
  await ground.forget()
  await until('a failed job', () => failed() > before)
  await sql`alter table farewatch_private.elsewhere rename to fare_state`.execute(db)
  sandbox.setFaults([])
}

const at = (endpoint: FaultRule['endpoint'], name: FaultRule['name'], code?: number) =>
  ({ name, endpoint, ...(code === undefined ? {} : { code }) }) as FaultRule

/** What the commands that call meet: each endpoint something else, and in every round another. */
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

/** Runs the commands that call the upstream, while it does wrong. */
export async function callByCommand(ground: CanaryGround): Promise<void> {
  const { sandbox, flight, run } = ground
  for (const rules of ROUNDS) {
    sandbox.setFaults(rules)
    await ground.rest()
    const [probe, sync, verify] = await Promise.all([
      run('upstream', 'probe', '--flight', flight, '--negative'),
      run('sync', '--json'),
      run('verify', '--flight', flight, '--non-residents-adults', '1', '--json'),
    ])
    expect([probe.exit, sync.exit, verify.exit]).toEqual([1, 1, 1])
  }
  sandbox.setFaults([])
}
