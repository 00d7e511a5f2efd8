import { expect, it } from 'vitest'
import { until } from '../../support/until.ts'
import { prepareFixture } from './fault-fixture.ts'

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

it.each([
  ['latency', { ms: 60_000 }],
  ['drip', { ms: 60_000 }],
] as const)('leaves no timer of %s behind for a client that has gone', async (name, parameters) => {
  const fixture = await prepareFixture()
  try {
    fixture.sandbox.setFaults([{ name, ...parameters }])
    const { next } = await fixture.logAfter(0)
    const before = timers()

    const clients = Array.from({ length: 20 }, () => fixture.request('verify'))
    await until('the log', async () => (await fixture.logAfter(next)).entries.length === 20)
    expect(timers()).toBeGreaterThanOrEqual(before + 20)
    for (const client of clients) client.hangUp()

    await until('no timers', () => timers() < before + 20, 5000)
  } finally {
    await fixture.close()
  }
})
