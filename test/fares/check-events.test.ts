import { expect, it } from 'vitest'
import { reportChecks } from '../../src/fares/check/check-events.ts'
import type { Check } from '../../src/fares/check/check-fares.ts'
import type { RecordedCheck } from '../../src/fares/check/record-checks.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createLogger } from '../../src/platform/base/logger.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { silentLog } from '../support/silent-log.ts'

const LOST = {
  fareId: 7,
  check: { observation: { evidence: { latencyMs: 12 } } },
  decision: {
    outcome: { outbound: 'unavailable', return: null },
    state: { held: null },
    changes: [{ kind: 'became_unavailable', detectedAt: '2026-01-31T12:00:00Z' }],
  },
} as unknown as RecordedCheck

it.each([
  ['info', 0],
  ['debug', 1],
] as const)('a changed fare writes no log line above debug: at %s %i', (level, count) => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLogger({ level, scrub: (text) => text, destination })

  reportChecks(
    { metrics: createMetrics(), log, clock: systemClock },
    { recorded: [LOST], checks: [LOST.check], late: 0, blocked: 0 },
  )

  expect(lines).toHaveLength(count)
})

it('an answer that does not count is superseded, or aged if it was old by its Age', async () => {
  const metrics = createMetrics()
  const dropped = (ageSeconds: number) => ({ observation: { ageSeconds } }) as unknown as Check

  reportChecks(
    { metrics, log: silentLog, clock: systemClock },
    { recorded: [], checks: [dropped(0), dropped(0), dropped(86_400)], late: 0, blocked: 0 },
  )

  const { values } = await metrics.checksDropped.get()
  const counts = Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))
  expect(counts).toMatchObject({ superseded: 2, aged: 1 })
})
