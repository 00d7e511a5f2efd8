import { expect, onTestFinished } from 'vitest'
import { createOnDemand } from '../../src/fares/on-demand/verify-on-demand.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { gone, observation, RULES } from '../fares/fare-fixtures.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { question } from '../upstream/verify-fixtures.ts'

it('the single question of one reseller is answered while another one has sixty, in each of two processes', async ({
  db,
}) => {
  const processes = [1, 2].map(() => {
    const onDemand = createOnDemand({
      db,
      upstream: { verifyFares: async () => observation(gone) },
      clock: systemClock,
      // Lanes have four slots a second: sixty questions take fifteen seconds.
      rules: { ...RULES, requestsPerSecond: 10 },
      slotTimeoutMs: 3_000,
      metrics: createMetrics(),
      log: silentLog,
    })
    onTestFinished(() => onDemand.close())
    return onDemand
  })
  const sixty = Array.from({ length: 60 }, (_, n) =>
    processes[n % 2]?.verify(question({ flightId: `${n}` }), 'ana'),
  )
  const single = processes.map(({ verify }) => verify(question({ flightId: 'one' }), 'bob'))

  const answers = await Promise.all(single)
  await Promise.all(processes.map(({ close }) => close()))

  expect(answers).toMatchObject([{ kind: 'known' }, { kind: 'known' }])
  const unanswered = (await Promise.all(sixty)).filter((result) => result?.kind === 'unknown')
  expect(unanswered.length).toBeGreaterThan(20)
})
