import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { FaultRule } from '../../sandbox/faults/fault-rule.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import type { BreakerName } from '../../src/upstream/breaker/breaker-state.ts'
import { trackFare } from '../fares/fare-fixtures.ts'
import { TOKEN } from '../sandbox/support.ts'
import { collectLog } from '../support/collected-log.ts'
import { breakerOn, passHealth, stateOf } from '../upstream/health-fixtures.ts'
import { deleteFares, fareFacts, type Verifier, verifierOf } from './fare-facts.ts'
import { type FaultFixture, prepareFaultFixture } from './fault-fixture.ts'

const FARES = 100
/** Slow enough that a process learns of trouble after a third of a round. A slow machine needs a second more. */
const REQUESTS_PER_SECOND = 50
const ASKED_AT_MOST = 85

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFaultFixture()
})
afterAll(() => fixture.close())

interface Process extends Verifier {
  readonly logLines: readonly string[]
}

/** A separate process. It knows the health of the upstream only from the database. */
function newProcess({ requestsPerSecond = REQUESTS_PER_SECOND } = {}): Process {
  const { log, lines } = collectLog('trace')
  const breaker = breakerOn(fixture.db, { log })
  const { client, logLines } = fixture.client({ breaker, limits: { maxConnections: FARES } })
  onTestFinished(() => breaker.close())
  const verifier = verifierOf(fixture.db, client, { breaker, requestsPerSecond })
  return {
    ...verifier,
    get logLines() {
      return [...lines, ...logLines]
    },
  }
}

/** Establishes that every fare is bookable, with an unknown health of the upstream. */
async function establishBeliefs(): Promise<void> {
  await deleteFares(fixture.db)
  for (const flightId of fixture.open.slice(0, FARES)) await trackFare(fixture.db, { flightId })
  const verifier = newProcess({ requestsPerSecond: 1_000 })
  expect(await verifier.fullRound()).toBe(FARES)
  const facts = await fareFacts(fixture.db)
  expect(facts.map(({ pair }) => pair)).toEqual(facts.map(() => 'bookable'))
}

/** The number of verify calls that the upstream received during the work. */
async function callsDuring(work: () => Promise<unknown>): Promise<number> {
  const before = await fixture.lastSeq()
  await work()
  return (await fixture.logAfter(before)).length
}

async function beliefs(): Promise<unknown> {
  const facts = await fareFacts(fixture.db)
  return facts.map(({ fareId, pair, believed, price, kinds }) => {
    return { fareId, pair, believed, price, kinds }
  })
}

interface Trouble {
  readonly title: string
  readonly fault: FaultRule
  readonly breaker: BreakerName
  readonly probeMs: number
}

const TROUBLES: readonly Trouble[] = [
  ...[500, 502, 503].map((code) => ({
    title: `server errors: a burst of ${code}`,
    fault: { name: 'status', endpoint: 'verify', code } as const,
    breaker: 'errors' as const,
    probeMs: 5_000,
  })),
  {
    title: 'server errors: a burst of broken connections',
    fault: { name: 'reset', endpoint: 'verify' },
    breaker: 'errors',
    probeMs: 5_000,
  },
  {
    title: 'credential refused: an expired token',
    fault: { name: 'token-expired', endpoint: 'verify' },
    breaker: 'auth',
    probeMs: 5_000,
  },
  {
    title: 'credential refused: 403',
    fault: { name: 'status', endpoint: 'verify', code: 403 },
    breaker: 'auth',
    probeMs: 5_000,
  },
  {
    title: 'credential refused: a login page',
    fault: { name: 'login-page', endpoint: 'verify' },
    breaker: 'auth',
    probeMs: 5_000,
  },
]

// Fault: Credential refused: few calls, no change of belief; ends with a successful probe.
// Fault: Asked to wait: a pause for all processes with a limited length; no fare and no attempt of a list is affected.
// Fault: Server errors: calls stop, one process probes, all recover; beliefs stay and are shown as stale when they are old.
describe('trouble that all processes share', () => {
  it.for(TROUBLES)(
    '$title: few calls are made, one process probes, and all processes recover',
    async ({ fault, breaker, probeMs }) => {
      const { db, setFaults, clearFaults } = fixture
      await establishBeliefs()
      const believed = await beliefs()
      setFaults(fault)
      const [one, other] = [newProcess(), newProcess()]

      const asked = await callsDuring(() => one.fullRound())
      const open = await stateOf(db, 'verify', breaker)
      const afterwards = await callsDuring(async () => {
        await Promise.all([one.fullRound(), other.fullRound()])
      })
      await passHealth(db, probeMs)
      const probers = [newProcess(), newProcess(), newProcess()]
      const probes = await callsDuring(() => Promise.all(probers.map((prober) => prober.round())))
      const failed = await stateOf(db, 'verify', breaker)

      expect(asked).toBeGreaterThan(0)
      expect(asked).toBeLessThan(ASKED_AT_MOST)
      expect(open.open).not.toBeNull()
      expect(afterwards).toBe(0)
      expect(probes).toBe(1)
      expect(failed.open?.probeAtMs).toBeGreaterThan((open.open?.probeAtMs ?? 0) + probeMs)
      expect(await beliefs()).toEqual(believed)

      clearFaults()
      // The second interval is the first one and the time since the opening.
      await passHealth(db, 4 * probeMs)
      expect(await callsDuring(() => newProcess().round())).toBe(1)
      expect((await stateOf(db, 'verify', breaker)).open).toBeNull()
      const back = newProcess({ requestsPerSecond: 1_000 })
      expect(await callsDuring(() => back.fullRound())).toBe(FARES)
      const facts = await fareFacts(db)
      expect(facts.every(({ reason, claimed }) => reason === null && !claimed)).toBe(true)
      expect(await beliefs()).toEqual(believed)
      const output = [one, other, ...probers, back].flatMap(({ logLines }) => logLines).join('\n')
      expect(output).toContain('upstream breaker opened')
      expect(output).not.toContain(TOKEN)
    },
  )
})

const CAP_S = 900
const UNNAMED_S = 2
const NAMED_S = 30

async function databaseTime(db: Db): Promise<Date> {
  const { now } = await selectOne(sql<{ now: Date }>`select clock_timestamp() as now`, db)
  return now
}

describe('a 429 whose Retry-After', () => {
  it.for([
    { form: 'seconds', waits: NAMED_S },
    { form: 'date', waits: NAMED_S },
    { form: 'absurd', waits: CAP_S },
    { form: 'missing', waits: UNNAMED_S },
    { form: 'garbage', waits: UNNAMED_S },
  ])(
    'is given as $form pauses all processes for $waits s, and does not affect any fare',
    async ({ form, waits }) => {
      const { db, setFaults, clearFaults } = fixture
      await establishBeliefs()
      const before = await fareFacts(db)
      setFaults({ name: 'rate-limited', endpoint: 'verify', retryAfter: form, seconds: NAMED_S })

      const begin = await databaseTime(db)
      await newProcess().fullRound()
      const end = await databaseTime(db)
      const { until } = await selectOne(
        sql<{ until: Date }>`select paused_until as until from upstream_budget`,
        db,
      )
      // However long the next rounds take, they meet the pause.
      await sql`update upstream_budget set paused_until = clock_timestamp() + interval '10 minutes'`.execute(
        db,
      )
      const during = await callsDuring(() =>
        Promise.all([newProcess().round(), newProcess().round()]),
      )
      const after = await fareFacts(db)

      // A date has whole seconds.
      expect(until.getTime()).toBeGreaterThan(begin.getTime() + (waits - 1) * 1_000)
      expect(until.getTime()).toBeLessThanOrEqual(end.getTime() + waits * 1_000)
      expect(during).toBe(0)
      expect(after.map(({ checks, state }) => ({ checks, state }))).toEqual(
        before.map(({ checks, state }) => ({ checks, state })),
      )
      expect(after.every(({ due, claimed }) => due && !claimed)).toBe(true)

      clearFaults()
      await passHealth(db, CAP_S * 1_000)
      const back = newProcess({ requestsPerSecond: 1_000 })
      expect(await callsDuring(() => back.round())).toBe(FARES)
    },
  )
})
