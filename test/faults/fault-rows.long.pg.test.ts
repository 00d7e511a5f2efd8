import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAULT_NAMES, type FaultName } from '../../sandbox/faults/fault-rule.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import type { UpstreamClient } from '../../src/upstream/upstream-client.ts'
import { trackFare } from '../fares/fare-fixtures.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { deleteFares, type FareFacts, fareFacts, resetHealth, verifierOf } from './fare-facts.ts'
import {
  type Answers,
  DANGERS,
  type FaultCase,
  type LegResult,
  type ListOutcome,
  ruleOf,
  type VerifyOutcome,
} from './fault-case.ts'
import { FAULT_CASES } from './fault-cases.ts'
import { type FaultFixture, prepareFaultFixture } from './fault-fixture.ts'
import { deleteValidators, listFacts, liveFacts, syncOnce } from './list-facts.ts'

const { signal } = new AbortController()
const FARES = ['open', 'sold', 'pair'] as const

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFaultFixture()
})
afterAll(() => fixture.close())

interface NamedCase {
  readonly title: string
  readonly name: FaultName
  readonly fault: FaultCase
}

const CASES: readonly NamedCase[] = FAULT_NAMES.flatMap((name) =>
  FAULT_CASES[name].map((fault) => {
    const parameters = Object.entries(fault.parameters ?? {}).map((pair) => pair.join('='))
    const title = [name, fault.list?.of ?? [], ...parameters].flat().join(' ')
    return { title: `${fault.danger}: ${title}`, name, fault }
  }),
)

describe('the table', () => {
  it('has a case for each fault of the sandbox', () => {
    const without = FAULT_NAMES.filter((name) => (FAULT_CASES[name] ?? []).length === 0)

    expect(without).toEqual([])
  })

  it('has a fault for each danger except questions that are never asked', () => {
    const met = new Set(CASES.map(({ fault }) => fault.danger))

    expect(DANGERS.filter((danger) => !met.has(danger))).toEqual(['forbidden questions'])
  })
})

describe('a route list under', () => {
  beforeAll(async () => {
    await using unauthenticated = clientOf(fixture.sandbox.url)
    await syncOnce(fixture.db, unauthenticated.client)
    await syncOnce(fixture.db, unauthenticated.client, 'with-availability')
  })

  it.for(CASES.filter(({ fault }) => fault.list))('$title', async ({ name, fault }) => {
    const { db, setFaults, clearFaults } = fixture
    const { of = 'routes', ...expected } = fault.list as ListOutcome
    const { client, pull } = fixture.client({ limits: fault.limits })
    const [facts, live] = [await listFacts(db), await liveFacts(db)]
    await deleteValidators(db)
    setFaults(ruleOf(name, fault))

    const result = await pull(of).then(
      () => 'ok',
      (err: { code: string }) => err.code,
    )
    const run = await syncOnce(db, client, of)

    expect(result).toBe(expected.client)
    const reason = expected.reason ?? (result === 'ok' ? undefined : result)
    expect([run.status, run.reason?.code]).toEqual([expected.run, reason])
    expect(run).toMatchObject(expected.counts ?? {})
    if (run.status !== 'applied') expect(await listFacts(db)).toEqual(facts)
    expect(await liveFacts(db)).toBe(live)

    clearFaults()
    const after = await syncOnce(db, fixture.client().client, of)
    expect(after).toMatchObject({ added: 0, removed: 0, gained: 0, lost: 0, pendingAbsences: 0 })
    expect(await liveFacts(db)).toBe(live)
  })
})

describe('a verify answer under', () => {
  it.for(CASES.filter(({ fault }) => fault.verify))('$title', async ({ name, fault }) => {
    const { db, setFaults } = fixture
    const expected = fault.verify as VerifyOutcome
    const { client } = fixture.client({ limits: fault.limits })
    const before = await establishBeliefs()
    setFaults(ruleOf(name, fault))

    const observed = await observeAll(client)
    const verifier = verifierOf(db, client)
    expect(await verifier.fullRound()).toBe(FARES.length)
    const after = await fareFacts(db)

    expect(observed.results).toEqual(expected.client)
    expect(observed.anomalies).toEqual(new Set(expected.anomalies))
    expect(after.every(({ claimed }) => !claimed)).toBe(true)
    for (const [at, fare] of FARES.entries()) {
      const [was, is] = [before[at], after[at]]
      if (was === undefined || is === undefined) throw new Error(`the fare ${fare} is missing`)
      const changes = expected.changes?.[fare] ?? []
      expect(is.kinds.slice(was.kinds.length)).toEqual(changes)
      if (changes.length > 0) continue
      expect(is).toMatchObject({ pair: was.pair, believed: was.believed, price: was.price })
      expectRetry(was, is, expected.reasons?.[fare] ?? unknownOf(expected.client[fare]))
    }
  })
})

/** Establishes beliefs by correct answers about all three fares. */
async function establishBeliefs(): Promise<FareFacts[]> {
  const { db, open, sold } = fixture
  await deleteFares(db)
  await trackFare(db, { flightId: open[0] ?? '' })
  await trackFare(db, { flightId: sold[0] ?? '' })
  await trackFare(db, { flightId: open[1] ?? '', returnFlightId: open[2] ?? '' })
  const verifier = verifierOf(db, fixture.client().client)
  // A loss is believed after two checks.
  await verifier.fullRound()
  await verifier.fullRound()
  const facts = await fareFacts(db)
  expect(facts.map(({ pair }) => pair)).toEqual(['bookable', 'not_bookable', 'bookable'])
  await resetHealth(db)
  return facts
}

async function observeAll(client: UpstreamClient) {
  const { open, sold } = fixture
  const ask = async (flightId = '', returnFlightId: string | null = null) =>
    client.verifyFares(question({ flightId, returnFlightId }), { signal })
  const all = await Promise.all([ask(open[0]), ask(sold[0]), ask(open[1], open[2])])
  const [one, other, pair] = all
  const results: Answers = {
    open: resultOf(one.outbound),
    sold: resultOf(other.outbound),
    pair: [resultOf(pair.outbound), resultOf(pair.return)],
  }
  return { results, anomalies: new Set(all.flatMap(({ anomalies }) => anomalies)) }
}

function resultOf(leg: LegObservation | null): LegResult {
  if (leg === null) throw new Error('a requested leg has no observation')
  return leg.kind === 'unknown' ? leg.reason : leg.kind
}

function unknownOf(results: LegResult | readonly [LegResult, LegResult]): LegResult | undefined {
  return [results].flat().find((result) => result !== 'available' && result !== 'unavailable')
}

/** An unknown answer changes no belief and schedules one early retry. */
function expectRetry(was: FareFacts, is: FareFacts, reason: LegResult | undefined): void {
  if (reason === 'rate_limited') {
    // There was no answer, so the check does not count.
    expect({ ...is, vdue: expect.closeTo(was.vdue), due: was.due }).toEqual({
      ...was,
      lane: is.lane,
    })
    expect(is.due).toBe(true)
    return
  }
  expect(is.checks).toBe(was.checks + 1)
  expect(is.reason).toBe(reason ?? null)
  if (reason === undefined) return
  expect(is.lane).toBe(reason === 'identity_mismatch' ? 'confirmation' : 'retry')
  if (reason !== 'identity_mismatch') expect(undated(is.state)).toEqual(undated(was.state))
}

/** A state without the instants of its prices: an answer that leaves out one leg shows the price of the other. */
function undated(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state), (name, value: unknown) =>
    name === 'pricedAt' ? null : value,
  )
}
