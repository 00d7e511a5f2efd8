import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTally } from '../../src/upstream/breaker/breaker-signal.ts'
import {
  applyOutcomes,
  type BreakerContext,
  type BreakerSignal,
  type BreakerState,
  nextProbeMs,
  type Outcomes,
  RULES,
  withCredential,
  withProbe,
} from '../../src/upstream/breaker/breaker-state.ts'
import { HEALTHY, outcomes } from './health-fixtures.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const SECOND = Math.floor(NOW / 1000)
const LEASE_MS = 20_000

function at(rule: BreakerContext['rule'], nowMs = NOW, fingerprint = 'a1'): BreakerContext {
  return { rule, nowMs, fingerprint }
}

function counted(calls: number, failed: number, second = SECOND): Partial<Outcomes> {
  return { counts: [{ second, calls, failed }] }
}

/** Failures in a row, of which the last was made at an instant. */
function failures(failuresInARow: number, failedAtMs = NOW): Partial<Outcomes> {
  return { failuresInARow, failedAtMs }
}

const { auth, errors } = RULES.verify
const listErrors = RULES.lists.errors

describe('the auth breaker', () => {
  it('opens after ten refusals of any processes in a row, and says how and since when', () => {
    let state = HEALTHY
    for (let i = 1; i <= 9; i += 1) {
      state = applyOutcomes(state, outcomes(failures(1, NOW + i)), at(auth, NOW + i))
      expect(state.open).toBeNull()
    }
    const tenth = { ...failures(1, NOW + 10), cause: '401', goodAtMs: NOW - 7 }
    const { open } = applyOutcomes(state, outcomes(tenth), at(auth, NOW + 10))

    expect(open).toEqual({
      sinceMs: NOW + 10,
      cause: '401',
      goodAtMs: NOW - 7,
      fingerprint: 'a1',
      probeAtMs: NOW + 5_010,
      probe: null,
    })
  })

  it('of the lists opens after three refusals in a row', () => {
    const two = applyOutcomes(HEALTHY, outcomes(failures(2)), at(RULES.lists.auth))

    expect(two.open).toBeNull()
    expect(applyOutcomes(two, outcomes(failures(1)), at(RULES.lists.auth)).open).not.toBeNull()
  })

  it('counts from 0 after a success, unless the success was made before the failures', () => {
    const nine = applyOutcomes(HEALTHY, outcomes(failures(9)), at(auth))
    const after = outcomes({ goodAtMs: NOW + 5, ...failures(1, NOW + 6) })
    const before = outcomes({ goodAtMs: NOW - 5, ...failures(1, NOW + 6) })

    expect(applyOutcomes(nine, after, at(auth, NOW + 10)).failuresInARow).toBe(1)
    expect(applyOutcomes(nine, before, at(auth, NOW + 10)).open).not.toBeNull()
  })

  it('counts as before after the clock of the database was set back', () => {
    const later = NOW + 3_600_000
    const state = { ...HEALTHY, closedAtMs: later, failedAtMs: later, failuresInARow: 9 }
    const tally = createTally()
    const call = { cause: '401', probe: null }
    tally.add({ ...call, signal: 'success', madeAtMs: later, nowMs: later })
    tally.take()
    for (let i = 0; i < 10; i += 1) {
      tally.add({ ...call, signal: 'failure', madeAtMs: NOW + i, nowMs: NOW + i })
    }

    const good = applyOutcomes(state, outcomes({ goodAtMs: NOW }), at(auth, NOW + 10))
    expect(good.failuresInARow).toBe(0)
    expect(applyOutcomes(good, tally.take(), at(auth, NOW + 10)).open).not.toBeNull()
  })

  it('closes for another credential and stays open for the refused one', () => {
    const open = applyOutcomes(HEALTHY, outcomes(failures(10)), at(auth))

    expect(withCredential(open, at(auth, NOW, 'a1'))).toBe(open)
    expect(withCredential(open, at(auth, NOW + 9, 'b2'))).toMatchObject({
      open: null,
      closedAtMs: NOW + 9,
      trips: 0,
    })
  })
})

describe('the errors breaker', () => {
  it.each([
    ['19 calls that all failed', 19, 19, false],
    ['half of 20', 20, 10, false],
    ['more than half of 20', 20, 11, true],
    ['a few of very many', 3_000, 100, false],
  ])('opens or stays closed after %s', (_name, calls, failed, opens) => {
    const { open } = applyOutcomes(HEALTHY, outcomes(counted(calls, failed)), at(errors))

    expect(open !== null).toBe(opens)
  })

  it('adds up the reports of several processes and drops calls that were made over a minute ago', () => {
    const reports = [-61, -9, -1].map((ago) => outcomes(counted(10, 8, SECOND + ago)))
    const last = reports.reduce((state, each) => applyOutcomes(state, each, at(errors)), HEALTHY)

    expect(last.open).not.toBeNull()
    const old = reports
      .slice(0, 2)
      .reduce((state, each) => applyOutcomes(state, each, at(errors)), HEALTHY)
    expect(old.open).toBeNull()
    expect(old.window).toHaveLength(1)
  })

  it('opens on timeouts only while they are the newest that is known', () => {
    const second = (ago: number) => SECOND - ago
    const timeouts = Array.from({ length: 9 }, (_, i) => counted(50, 50, second(19 - i)))
    const good = Array.from({ length: 10 }, (_, i) => counted(50, 0, second(9 - i)))
    const countsOf = (parts: readonly Partial<Outcomes>[]) =>
      outcomes({ counts: parts.flatMap(({ counts }) => counts ?? []) })
    const hung = applyOutcomes(HEALTHY, countsOf(timeouts), at(errors, NOW - 1_000))
    const recovered = applyOutcomes(HEALTHY, countsOf([...timeouts, ...good]), at(errors))

    expect(hung.open).not.toBeNull()
    expect(recovered.open).toBeNull()
    expect(recovered.window.some(({ failed }) => failed > 0)).toBe(true)
  })

  it('opens on an upstream that answers one of five calls and lets the others time out', () => {
    const answered = Array.from({ length: 20 }, (_, i) => counted(10, 0, SECOND - i))
    const timeouts = Array.from({ length: 10 }, (_, i) => counted(40, 40, SECOND - 10 - i))
    const { open } = applyOutcomes(
      HEALTHY,
      outcomes({ counts: [...answered, ...timeouts].flatMap(({ counts }) => counts ?? []) }),
      at(errors),
    )

    expect(open).not.toBeNull()
  })

  it('opens within a minute on an upstream that refuses each of forty calls a minute', () => {
    let state = HEALTHY
    let seconds = 0
    for (; state.open === null && seconds < 120; seconds += 1.5) {
      const second = SECOND + Math.floor(seconds)
      state = applyOutcomes(state, outcomes(counted(1, 1, second)), at(errors, second * 1000 + 500))
    }

    expect(seconds).toBeGreaterThan(20)
    expect(seconds).toBeLessThanOrEqual(60)
  })

  it('stores no counts while no call fails', () => {
    expect(applyOutcomes(HEALTHY, outcomes(counted(500, 0)), at(errors))).toEqual(HEALTHY)
  })

  it('opens for lists after three consecutive failures', () => {
    const two = applyOutcomes(HEALTHY, outcomes(failures(2)), at(listErrors))

    expect(two.open).toBeNull()
    expect(applyOutcomes(two, outcomes(failures(1)), at(listErrors)).open).not.toBeNull()
  })
})

/** Leases the probe of an open breaker and applies its signal. */
function probed(state: BreakerState, signal: BreakerSignal, context: BreakerContext): BreakerState {
  const leased = withProbe(state, { id: 'p1', untilMs: context.nowMs + LEASE_MS })
  return applyOutcomes(leased, outcomes({ probe: { id: 'p1', signal } }), context)
}

describe('an open breaker', () => {
  const open = applyOutcomes(HEALTHY, outcomes(counted(20, 20)), at(errors))
  const refused = applyOutcomes(HEALTHY, outcomes(failures(10)), at(auth))

  it.each([
    ['errors', open, errors, [5, 10, 20, 40, 60, 60]],
    ['auth', refused, auth, [5, 10, 20, 40, 60, 60]],
  ])('%s: is probed at intervals that double up to the maximum', (_name, first, rule, seconds) => {
    let state = first
    const waits: number[] = []
    let nowMs = NOW
    for (let i = 0; i < seconds.length; i += 1) {
      const nextMs = state.open?.probeAtMs ?? Number.NaN
      waits.push((nextMs - nowMs) / 1000)
      nowMs = nextMs
      state = probed(state, 'failure', at(rule, nowMs))
    }

    expect(waits).toEqual(seconds)
  })

  it('closes after a successful probe, and keeps its interval if it reopens within a minute', () => {
    const closed = probed(probed(open, 'failure', at(errors)), 'success', at(errors, NOW + 10_000))
    const again = outcomes(counted(20, 20, SECOND + 30))
    const soon = applyOutcomes(closed, again, at(errors, NOW + 30_000))
    const late = outcomes(counted(20, 20, SECOND + 100))

    expect(closed).toMatchObject({ open: null, closedAtMs: NOW + 10_000, window: [] })
    expect(soon.open?.probeAtMs).toBe(NOW + 30_000 + 20_000)
    expect(applyOutcomes(closed, late, at(errors, NOW + 100_000)).open?.probeAtMs).toBe(
      NOW + 105_000,
    )
  })

  it('does not reopen because of calls that began before it closed', () => {
    const closed = probed(open, 'success', at(errors, NOW + 6_000))
    const hung = { second: SECOND - 1, calls: 50, failed: 50 }
    const made = { ...hung, second: SECOND + 7 }

    const later = at(errors, NOW + 9_000)
    expect(applyOutcomes(closed, outcomes({ counts: [hung] }), later).open).toBeNull()
    expect(applyOutcomes(closed, outcomes({ counts: [made] }), later).open).not.toBeNull()
  })

  it('releases a probe that was not made, and delays the next one after a neutral probe', () => {
    const later = at(auth, NOW + 6_000)

    expect(probed(refused, 'not_made', later)).toEqual(refused)
    expect(probed(refused, 'neutral', later).open?.probeAtMs).toBe(NOW + 11_000)
  })

  it('ignores all outcomes except its own probe', () => {
    const leased = withProbe(open, { id: 'p1', untilMs: NOW + LEASE_MS })
    const strays = [
      outcomes({ goodAtMs: NOW, probe: { id: 'another', signal: 'success' } }),
      outcomes({ ...counted(50, 50), ...failures(50) }),
      outcomes({ goodAtMs: NOW }),
    ]

    for (const stray of strays) expect(applyOutcomes(leased, stray, at(errors))).toBe(leased)
  })

  it('permits another probe after the lease of the last one has ended', () => {
    const facts = { leaseMs: LEASE_MS }
    const leased = withProbe(open, { id: 'p1', untilMs: NOW + 25_000 }).open
    if (leased === null) throw new Error('it is open')

    expect(nextProbeMs(leased, { ...facts, nowMs: NOW + 6_000 })).toBe(NOW + 25_000)
    expect(nextProbeMs(leased, { ...facts, nowMs: NOW + 25_000 })).toBe(0)
    // The database's clock was set back by an hour.
    expect(nextProbeMs(leased, { ...facts, nowMs: NOW - 3_600_000 })).toBe(0)
  })
})

const arbitraryOutcomes = fc.record({
  counts: fc.array(
    fc
      .record({ second: fc.integer({ min: -15, max: 1 }), calls: fc.nat(40), failed: fc.nat(40) })
      .map(({ second, calls, failed }) => ({
        second: SECOND + second,
        calls,
        failed: Math.min(calls, failed),
      })),
    { maxLength: 4 },
  ),
  goodAtMs: fc.option(fc.integer({ min: NOW - 20_000, max: NOW })),
  failuresInARow: fc.nat(4),
  failedAtMs: fc.option(fc.integer({ min: NOW - 20_000, max: NOW })),
  cause: fc.constant(null),
  probe: fc.option(
    fc.record({
      id: fc.constantFrom('p1', 'p2'),
      signal: fc.constantFrom<BreakerSignal>('success', 'failure', 'neutral', 'not_made'),
    }),
  ),
})
const arbitraryRule = fc.constantFrom(auth, errors, listErrors)

/** A generator of numbers in [0, 1) that yields the same ones in every run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Whether the auth breaker of verify opened during 20 calls a second of two processes, a share of them refused. */
function opensAt(refused: number, seconds: number): boolean {
  const random = seeded(7)
  const tallies = [createTally(), createTally()] as const
  let state = HEALTHY
  for (let nowMs = NOW; nowMs < NOW + seconds * 1000; nowMs += 50) {
    const tally = tallies[random() < 0.5 ? 0 : 1]
    const signal = random() < refused ? 'failure' : 'success'
    tally.add({ signal, cause: '401', madeAtMs: nowMs - 30, nowMs, probe: null })
    if (tally.urgent || state.window.length > 0) {
      state = applyOutcomes(state, tally.take(), at(auth, nowMs))
    }
    if (state.open !== null) return true
  }
  return false
}

describe('the auth breaker of two processes that make 20 calls a second', () => {
  it.each([0.05, 0.1, 0.25])(
    'never opens in ten minutes if %s of the calls are refused',
    (share) => {
      expect(opensAt(share, 600)).toBe(false)
    },
  )

  it.each([0.7, 1])('opens within ten seconds if %s of the calls are refused', (share) => {
    expect(opensAt(share, 10)).toBe(true)
  })
})

describe('for any sequence of outcomes', () => {
  it('no probe waits longer than the maximum interval, and only a successful probe closes a breaker', () => {
    const steps = fc.array(
      fc.record({ report: arbitraryOutcomes, afterMs: fc.nat(700_000), leases: fc.boolean() }),
    )
    fc.assert(
      fc.property(arbitraryRule, steps, (rule, all) => {
        let state = HEALTHY
        let nowMs = NOW
        for (const { report, afterMs, leases } of all) {
          nowMs += afterMs
          const lease = { id: 'p1', untilMs: nowMs + LEASE_MS }
          if (leases) state = withProbe(state, lease)
          const next = applyOutcomes(state, report, at(rule, nowMs))
          if (state.open !== null && next.open === null) {
            expect(report.probe).toEqual({ id: state.open.probe?.id, signal: 'success' })
          }
          state = next
          expect((state.open?.probeAtMs ?? 0) - nowMs).toBeLessThanOrEqual(60_000)
        }
      }),
    )
  })

  it('successes alone never open a breaker', () => {
    fc.assert(
      fc.property(arbitraryRule, fc.array(fc.nat(500)), (rule, calls) => {
        const good = calls.map((n) =>
          outcomes({
            counts: [{ second: SECOND, calls: n, failed: 0 }],
            goodAtMs: NOW,
          }),
        )
        expect(
          good.reduce((state, report) => applyOutcomes(state, report, at(rule)), HEALTHY),
        ).toEqual(HEALTHY)
      }),
    )
  })

  it('failures have the same effect in one report as in several, up to the opening', () => {
    const parts = fc.array(
      fc.record({ calls: fc.nat(9), failed: fc.integer({ min: 1, max: 9 }) }),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(parts, (all) => {
        const counts = all.map(({ calls, failed }) => ({
          second: SECOND,
          calls: calls + failed,
          failed,
        }))
        const apart = counts.map((count) => outcomes({ counts: [count] }))
        const split = apart.reduce(
          (state, report) => applyOutcomes(state, report, at(errors)),
          HEALTHY,
        )
        const whole = applyOutcomes(HEALTHY, outcomes({ counts }), at(errors))
        if (split.open === null) expect(split.window.length).toBe(whole.window.length)
        if (whole.open !== null) expect(split.open).not.toBeNull()
      }),
    )
  })
})
