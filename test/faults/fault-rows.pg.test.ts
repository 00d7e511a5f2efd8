import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAULT_NAMES, type FaultName } from '../../src/sandbox/faults/fault-rule.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import type { UpstreamClient } from '../../src/upstream/upstream-client.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { trackFare } from '../verify/fare-fixtures.ts'
import { askerOf, type FareFacts, fareFacts, forgetFares, forgetHealth } from './fare-facts.ts'
import {
  type Answers,
  DANGERS,
  type FaultCase,
  type ListOutcome,
  ruleOf,
  type Said,
  type VerifyOutcome,
} from './fault-case.ts'
import { FAULT_CASES } from './fault-cases.ts'
import { type FaultGround, prepareFaultGround } from './fault-ground.ts'
import { forgetValidators, listFacts, liveFacts, syncOnce } from './list-facts.ts'

const { signal } = new AbortController()
const FARES = ['open', 'sold', 'pair'] as const

let ground: FaultGround
beforeAll(async () => {
  ground = await prepareFaultGround()
})
afterAll(() => ground.close())

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
  it('has a row for every fault of the sandbox', () => {
    const without = FAULT_NAMES.filter((name) => (FAULT_CASES[name] ?? []).length === 0)

    expect(without).toEqual([])
  })

  it('has a fault for every danger but that of questions that are never asked', () => {
    const met = new Set(CASES.map(({ fault }) => fault.danger))

    expect(DANGERS.filter((danger) => !met.has(danger))).toEqual(['forbidden questions'])
  })
})

describe('a route list under', () => {
  beforeAll(async () => {
    await using honest = clientOf(ground.sandbox.url)
    await syncOnce(ground.db, honest.client)
    await syncOnce(ground.db, honest.client, 'with-availability')
  })

  it.for(CASES.filter(({ fault }) => fault.list))('$title', async ({ name, fault }) => {
    const { db, spoil, honest } = ground
    const { of = 'routes', ...expected } = fault.list as ListOutcome
    const { client, pull } = ground.client({ limits: fault.limits })
    const [facts, live] = [await listFacts(db), await liveFacts(db)]
    await forgetValidators(db)
    spoil(ruleOf(name, fault))

    const heard = await pull(of).then(
      () => 'ok',
      (err: { code: string }) => err.code,
    )
    const run = await syncOnce(db, client, of)

    expect(heard).toBe(expected.client)
    const reason = expected.reason ?? (heard === 'ok' ? undefined : heard)
    expect([run.status, run.reason?.code]).toEqual([expected.run, reason])
    expect(run).toMatchObject(expected.counts ?? {})
    if (run.status !== 'applied') expect(await listFacts(db)).toEqual(facts)
    expect(await liveFacts(db)).toBe(live)

    honest()
    const after = await syncOnce(db, ground.client().client, of)
    expect(after).toMatchObject({ added: 0, removed: 0, gained: 0, lost: 0, pendingAbsences: 0 })
    expect(await liveFacts(db)).toBe(live)
  })
})

describe('a verify answer under', () => {
  it.for(CASES.filter(({ fault }) => fault.verify))('$title', async ({ name, fault }) => {
    const { db, spoil } = ground
    const expected = fault.verify as VerifyOutcome
    const { client } = ground.client({ limits: fault.limits })
    const before = await believe()
    spoil(ruleOf(name, fault))

    const heard = await observeAll(client)
    const asker = askerOf(db, client)
    expect(await asker.fullRound()).toBe(FARES.length)
    const after = await fareFacts(db)

    expect(heard.said).toEqual(expected.client)
    expect(heard.anomalies).toEqual(new Set(expected.anomalies))
    expect(after.every(({ claimed }) => !claimed)).toBe(true)
    for (const [at, fare] of FARES.entries()) {
      const [was, is] = [before[at], after[at]]
      if (was === undefined || is === undefined) throw new Error(`the fare ${fare} has gone`)
      const changes = expected.changes?.[fare] ?? []
      expect(is.kinds.slice(was.kinds.length)).toEqual(changes)
      if (changes.length > 0) continue
      expect(is).toMatchObject({ pair: was.pair, believed: was.believed, price: was.price })
      expectOwed(was, is, expected.reasons?.[fare] ?? unknownOf(expected.client[fare]))
    }
  })
})

/** The honest answers about all three fares, believed. */
async function believe(): Promise<FareFacts[]> {
  const { db, open, sold } = ground
  await forgetFares(db)
  await trackFare(db, { flightId: open[0] ?? '' })
  await trackFare(db, { flightId: sold[0] ?? '' })
  await trackFare(db, { flightId: open[1] ?? '', returnFlightId: open[2] ?? '' })
  const asker = askerOf(db, ground.client().client)
  // A loss is believed when it was said twice.
  await asker.fullRound()
  await asker.fullRound()
  const facts = await fareFacts(db)
  expect(facts.map(({ pair }) => pair)).toEqual(['bookable', 'not_bookable', 'bookable'])
  await forgetHealth(db)
  return facts
}

async function observeAll(client: UpstreamClient) {
  const { open, sold } = ground
  const ask = async (flightId = '', returnFlightId: string | null = null) =>
    client.verifyFares(question({ flightId, returnFlightId }), { signal })
  const all = await Promise.all([ask(open[0]), ask(sold[0]), ask(open[1], open[2])])
  const [one, other, pair] = all
  const said: Answers = {
    open: saidOf(one.outbound),
    sold: saidOf(other.outbound),
    pair: [saidOf(pair.outbound), saidOf(pair.return)],
  }
  return { said, anomalies: new Set(all.flatMap(({ anomalies }) => anomalies)) }
}

function saidOf(leg: LegObservation | null): Said {
  if (leg === null) throw new Error('nothing is said of a leg that was asked')
  return leg.kind === 'unknown' ? leg.reason : leg.kind
}

function unknownOf(said: Said | readonly [Said, Said]): Said | undefined {
  return [said].flat().find((one) => one !== 'available' && one !== 'unavailable')
}

/** What an answer that tells nothing leaves: the belief to its last digit, and one early retry. */
function expectOwed(was: FareFacts, is: FareFacts, reason: Said | undefined): void {
  if (reason === 'rate_limited') {
    // Nobody answered: the turn is not spent.
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
  if (reason !== 'identity_mismatch') expect(is.state).toEqual(was.state)
}
