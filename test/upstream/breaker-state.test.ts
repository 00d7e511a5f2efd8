import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  admissionOf,
  afterCall,
  BREAKERS,
  type BreakerName,
  type Breakers,
  ENDPOINT_GROUPS,
  type EndedCall,
  type EndpointGroup,
  withProbe,
} from '../../src/upstream/breaker/breaker-state.ts'
import { HEALTHY } from './health-fixtures.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const ALL_HEALTHY: Breakers = {
  lists: { auth: HEALTHY, errors: HEALTHY },
  verify: { auth: HEALTHY, errors: HEALTHY },
}

/** A call of verify that was made at the same instant. */
function ended(breakers: Breakers, call: Partial<EndedCall>, nowMs = NOW): Breakers {
  const ordinary = { group: 'verify', cause: '500', probe: null, goodAtMs: null } as const
  return afterCall(breakers, { outcome: 'good', madeAtMs: nowMs, ...ordinary, ...call }, nowMs)
}

function repeated(times: number, call: Partial<EndedCall>, from = ALL_HEALTHY, nowMs = NOW) {
  return Array.from({ length: times }).reduce<Breakers>((b) => ended(b, call, nowMs), from)
}

const FAILURES = { auth: 'refused', errors: 'failed' } as const
const OPENINGS: [EndpointGroup, BreakerName, number][] = [
  ['lists', 'auth', 3],
  ['lists', 'errors', 3],
  ['verify', 'auth', 10],
  ['verify', 'errors', 20],
]

describe('a closed breaker', () => {
  it.each(OPENINGS)('of %s, %s, opens at failure %i in a row, alone', (group, name, opensAt) => {
    const failure = { group, outcome: FAILURES[name], cause: '401', goodAtMs: NOW - 7 }
    const before = repeated(opensAt - 1, failure)
    const opened = ended(before, failure)

    expect(before[group][name].open).toBeNull()
    expect(opened[group][name].open).toEqual({
      sinceMs: NOW,
      cause: '401',
      goodAtMs: NOW - 7,
      probeAtMs: NOW + 5_000,
      probe: null,
    })
    const others = ENDPOINT_GROUPS.flatMap((g) => BREAKERS.map((b) => opened[g][b]))
    expect(others.filter(({ open }) => open !== null)).toHaveLength(1)
  })

  it('of the credential ignores failures of the server, and of errors counts a refusal as a success', () => {
    const failed = repeated(19, { outcome: 'failed' })

    expect(failed.verify.auth).toEqual(HEALTHY)
    expect(ended(failed, { outcome: 'refused' }).verify.errors.failures).toBe(17.5)
    expect(ended(failed, { outcome: 'not_made' })).toBe(failed)
  })

  it('opens within a minute on an upstream that refuses each of forty calls a minute', () => {
    let breakers = ALL_HEALTHY
    let seconds = 0
    for (; breakers.verify.auth.open === null && seconds < 120; seconds += 1.5) {
      breakers = ended(breakers, { outcome: 'refused' }, NOW + seconds * 1000)
    }

    expect(seconds).toBeLessThanOrEqual(60)
  })
})

/** A generator of numbers in [0, 1) that yields the same ones in every run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Whether the auth breaker of verify opened during 20 calls a second, a share of them refused. */
function opensAt(refused: number, seconds: number): boolean {
  const random = seeded(7)
  let breakers = ALL_HEALTHY
  for (let nowMs = NOW; nowMs < NOW + seconds * 1000; nowMs += 50) {
    breakers = ended(breakers, { outcome: random() < refused ? 'refused' : 'good' }, nowMs)
    if (breakers.verify.auth.open !== null) return true
  }
  return false
}

describe('the auth breaker of processes that make 20 calls a second', () => {
  it.each([0.05, 0.1, 0.25])(
    // Fault: 5 to 25 % of the calls are refused with 401.
    'never opens in ten minutes if %s of the calls are refused',
    (share) => {
      expect(opensAt(share, 600)).toBe(false)
    },
  )

  it.each([0.7, 1])('opens within ten seconds if %s of the calls are refused', (share) => {
    expect(opensAt(share, 10)).toBe(true)
  })
})

/** Whether the errors breaker opened during 50 calls a second. `hangs` says which calls time out after ten seconds. */
function opensOn(hangs: (second: number, call: number) => boolean, seconds: number): boolean {
  const ends = Array.from({ length: 50 * seconds }, (_, call) => {
    const madeAtMs = NOW + call * 20
    const isHung = hangs(Math.floor(call / 50), call)
    return { madeAtMs, isHung, endMs: madeAtMs + (isHung ? 10_000 : 100) }
  })
    .filter(({ endMs }) => endMs <= NOW + seconds * 1000)
    .toSorted((a, b) => a.endMs - b.endMs)
  const step = (breakers: Breakers, { madeAtMs, isHung, endMs }: (typeof ends)[number]) =>
    breakers.verify.errors.open === null
      ? ended(breakers, { outcome: isHung ? 'failed' : 'good', madeAtMs }, endMs)
      : breakers
  return ends.reduce(step, ALL_HEALTHY).verify.errors.open !== null
}

describe('the errors breaker of processes that make 50 calls a second', () => {
  // Fault: Timeouts end after the upstream has recovered.
  it('stays closed when timeouts end after the upstream has recovered', () => {
    expect(opensOn((second) => second < 9, 60)).toBe(false)
  })
})

/** Leases the probe of verify and applies its end. */
function probed(breakers: Breakers, outcome: EndedCall['outcome'], nowMs: number): Breakers {
  const leased = withProbe(breakers, { group: 'verify', probe: 'p1' }, nowMs)
  return ended(leased, { outcome, cause: 'timeout', probe: 'p1' }, nowMs)
}

describe('an open breaker', () => {
  const open = repeated(20, { outcome: 'failed' })
  const refused = repeated(10, { outcome: 'refused' })

  it.each([
    ['errors', open, [5, 10, 20, 40, 60, 60]],
    ['auth', refused, [5, 10, 20, 40, 60, 60]],
  ] as const)(
    // Fault: The credential is refused for good. Probes are at most 60 s apart.
    '%s: is probed at intervals that double up to the maximum',
    (name, first, seconds) => {
      let breakers: Breakers = first
      const waits: number[] = []
      let nowMs = NOW
      for (let i = 0; i < seconds.length; i += 1) {
        const nextMs = breakers.verify[name].open?.probeAtMs ?? Number.NaN
        waits.push((nextMs - nowMs) / 1000)
        nowMs = nextMs
        breakers = probed(breakers, FAILURES[name], nowMs)
      }

      expect(waits).toEqual(seconds)
      expect(breakers.verify[name].open?.cause).toBe('timeout')
    },
  )

  it('closes after a successful probe, and not because of calls that were made before', () => {
    const closed = probed(open, 'good', NOW + 6_000)
    const late = { outcome: 'failed', madeAtMs: NOW - 1_000 } as const

    expect(closed.verify.errors).toMatchObject({ open: null, closedAtMs: NOW + 6_000 })
    expect(repeated(50, late, closed, NOW + 9_000)).toBe(closed)
    expect(
      repeated(50, { outcome: 'failed' }, closed, NOW + 9_000).verify.errors.open,
    ).not.toBeNull()
  })

  it('ignores all calls except its own probe', () => {
    const leased = withProbe(open, { group: 'verify', probe: 'p1' }, NOW + 5_000)

    for (const probe of [null, 'another']) {
      expect(ended(leased, { probe }, NOW + 5_000)).toBe(leased)
      expect(ended(leased, { outcome: 'failed', probe }, NOW + 5_000)).toBe(leased)
    }
  })

  it('leases one probe, and permits another after its lease has ended', () => {
    const leased = withProbe(open, { group: 'verify', probe: 'p1' }, NOW + 5_000)
    const kindAt = (ms: number) => admissionOf(leased, 'verify', NOW + ms).kind

    expect(withProbe(open, { group: 'verify', probe: 'p1' }, NOW + 4_999)).toBe(open)
    expect(withProbe(leased, { group: 'verify', probe: 'p2' }, NOW + 6_000)).toBe(leased)
    expect([6_000, 24_999, 25_000].map(kindAt)).toEqual(['refused', 'refused', 'probe'])
    // The database's clock was set back by an hour.
    expect(kindAt(-3_600_000)).toBe('probe')
  })
})

it('breakers count as before after the clock of the database was set back', () => {
  const later = { ...HEALTHY, closedAtMs: NOW + 3_600_000, failedAtMs: NOW + 3_600_000 }
  const breakers = { ...ALL_HEALTHY, verify: { auth: later, errors: later } }

  expect(repeated(10, { outcome: 'refused' }, breakers).verify.auth.open).not.toBeNull()
})

it('for any sequence of calls no probe waits longer than its lease, and only a successful probe closes a breaker', () => {
  const steps = fc.array(
    fc.record({
      outcome: fc.constantFrom('good', 'anomalous', 'failed', 'refused', 'not_made'),
      probe: fc.option(fc.constantFrom('p1', 'p2')),
      afterMs: fc.nat(70_000),
      times: fc.integer({ min: 1, max: 25 }),
      leases: fc.boolean(),
    }),
  )
  fc.assert(
    fc.property(fc.constantFrom(...ENDPOINT_GROUPS), steps, (group, all) => {
      let breakers = ALL_HEALTHY
      let nowMs = NOW
      for (const { outcome, probe, afterMs, times, leases } of all) {
        nowMs += afterMs
        if (leases) breakers = withProbe(breakers, { group, probe: 'p1' }, nowMs)
        const next = repeated(times, { group, outcome, probe }, breakers, nowMs)
        for (const name of BREAKERS) {
          const [was, is] = [breakers[group][name].open, next[group][name].open]
          if (was !== null && is === null) {
            expect(probe).toBe(was.probe)
            expect(['failed', 'not_made']).not.toContain(outcome)
          }
          expect((is?.probeAtMs ?? 0) - nowMs).toBeLessThanOrEqual(150_000)
        }
        breakers = next
      }
    }),
  )
})
