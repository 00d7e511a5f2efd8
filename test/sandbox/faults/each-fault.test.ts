import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAULT_NAMES } from '../../../sandbox/faults/fault-rule.ts'
import { until } from '../../support/until.ts'
import type { PendingResponse, Received } from '../raw-client.ts'
import type { FaultCase } from './fault-case.ts'
import { FAULT_CASES, ruleOf } from './fault-cases.ts'
import { type FaultFixture, prepareFixture } from './fault-fixture.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFixture()
})
afterAll(() => fixture.close())

/** The answer that the client has received when the connection ends, or when nothing more follows. */
async function expectReceived(
  asking: PendingResponse,
  { hangsUpAfter }: FaultCase,
  seq: number,
): Promise<Received> {
  if (hangsUpAfter === undefined) return await asking.done
  await until('the beginning', () => asking.received().body.length >= hangsUpAfter)
  await until('the log', async () => (await fixture.logAfter(seq)).entries.length > 0)
  // Another client gets a complete response. This one receives nothing more.
  fixture.sandbox.setFaults([])
  await fixture.request('verify').done
  const received = asking.received()
  asking.hangUp()
  await asking.done
  return received
}

it('has a case for every fault of the table', () => {
  expect(new Set(Object.keys(FAULT_CASES))).toEqual(new Set(FAULT_NAMES))
  expect(Object.values(FAULT_CASES).every((cases) => cases.length > 0)).toBe(true)
})

describe.each(FAULT_NAMES)('the fault %s', (name) => {
  it.each(FAULT_CASES[name].map((one) => ({ ...one, what: JSON.stringify(one.parameters ?? {}) })))(
    'changes the response of $at with $what, and the log records what was sent',
    async (one) => {
      fixture.sandbox.setFaults([ruleOf(name, one)])

      const { next: seq } = await fixture.logAfter(0)
      const asking = fixture.request(one.at, one.params)
      const received = await expectReceived(asking, one, seq)
      const [logged] = (await fixture.logAfter(seq)).entries

      one.received(received, fixture)
      expect(logged).toMatchObject({ endpoint: one.at, fault: name })
      expect(logged?.outcome).toEqual(one.outcome(fixture))
      fixture.sandbox.setFaults([])
    },
  )
})
