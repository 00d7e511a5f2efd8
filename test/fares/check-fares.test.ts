import { expect, it } from 'vitest'
import type { Check, RecordedCheck } from '../../src/fares/beliefs.ts'
import { type ClaimedFare, checkFares, reportChecks } from '../../src/fares/check.ts'
import type { CheckBatch } from '../../src/fares/record.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { collectLog } from '../support/collected-log.ts'
import { silentLog } from '../support/silent-log.ts'
import { available, observation } from './fare-fixtures.ts'

function fare(fareId: number, slotInMs = 0): ClaimedFare {
  const question = questionWith({ flightId: String(fareId) })
  return { fareId, slotAt: new Date(Date.now() + slotInMs), question, why: 'scheduled' }
}

/** An upstream whose answers a test gives one by one. */
function heldUpstream() {
  const held = new Map<string, PromiseWithResolvers<Observation>>()
  return {
    answer: (id: number) => held.get(String(id))?.resolve(observation(available())),
    upstream: {
      verifyFares: ({ flightId }: { flightId: string }) => {
        const answer = Promise.withResolvers<Observation>()
        held.set(flightId, answer)
        if (flightId !== '2') answer.resolve(observation(available()))
        return answer.promise
      },
    },
  }
}

const never = new AbortController().signal
const faresOf = (batch: CheckBatch | undefined) => batch?.checks.map((check) => check.fareId)

it('results are yielded before a call that hangs, and its result when it comes', async () => {
  const { upstream, answer } = heldUpstream()
  const batches = checkFares({ upstream, clock: systemClock }, [fare(1), fare(2), fare(3, 20)], {
    skewMs: 0,
    unsureMs: 0,
    signal: never,
  })

  const first = await batches.next()
  answer(2)
  const second = await batches.next()

  expect(faresOf(first.value ?? undefined)).toEqual([1, 3])
  expect(faresOf(second.value ?? undefined)).toEqual([2])
  expect((await batches.next()).done).toBe(true)
})

const LOST = {
  fareId: 7,
  check: { observation: { outbound: { kind: 'unavailable' }, evidence: { latencyMs: 12 } } },
  decision: {
    outcome: { outbound: 'unavailable', return: null },
    state: { candidate: null },
    changes: [{ kind: 'became_unavailable', detectedAt: '2026-01-31T12:00:00Z' }],
  },
} as unknown as RecordedCheck

function ofRecorded(recorded: readonly RecordedCheck[]) {
  return { recorded, copies: new Set<Check>() }
}

it.each([
  ['info', 0],
  ['debug', 1],
  // Fault: Thousands of fares change.
] as const)('a changed fare writes no log line above debug: at %s %i', (level, count) => {
  const { log, lines } = collectLog(level)

  reportChecks({ metrics: createMetrics(), log, clock: systemClock }, ofRecorded([LOST]), {
    checks: [LOST.check],
    late: [],
    blocked: [],
  })

  expect(lines).toHaveLength(count)
})

it('an answer that does not count is superseded, aged if it was old by its Age, or copied', async () => {
  const metrics = createMetrics()
  const dropped = (ageSeconds: number) => ({ observation: { ageSeconds } }) as unknown as Check
  const copy = dropped(0)
  const batch = { recorded: [], copies: new Set([copy]) }

  reportChecks({ metrics, log: silentLog, clock: systemClock }, batch, {
    checks: [dropped(0), dropped(0), dropped(86_400), copy],
    late: [],
    blocked: [],
  })

  const { values } = await metrics.checksDropped.get()
  const counts = Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))
  expect(counts).toMatchObject({ superseded: 2, aged: 1, copied: 1 })
})
