import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAULT_NAMES } from '../../../src/sandbox/faults/fault-rule.ts'
import { until } from '../../support/until.ts'
import type { Asking, Heard } from '../raw-client.ts'
import type { FaultCase } from './fault-case.ts'
import { FAULT_CASES, ruleOf } from './fault-cases.ts'
import { type Ground, prepareGround } from './ground.ts'

let ground: Ground
beforeAll(async () => {
  ground = await prepareGround()
})
afterAll(() => ground.close())

/** What the client heard when the connection ended, or when as much had come as ever will. */
async function hear(asking: Asking, { hears }: FaultCase, seq: number): Promise<Heard> {
  if (hears === undefined) return await asking.done
  await until('the beginning', () => asking.heard().body.length >= hears)
  await until('the log', async () => (await ground.logAfter(seq)).entries.length > 0)
  // Another client is answered from end to end; this one hears no more.
  ground.sandbox.setFaults([])
  await ground.ask('verify').done
  const heard = asking.heard()
  asking.hangUp()
  await asking.done
  return heard
}

it('has a case for every fault of the table', () => {
  expect(new Set(Object.keys(FAULT_CASES))).toEqual(new Set(FAULT_NAMES))
  expect(Object.values(FAULT_CASES).every((cases) => cases.length > 0)).toBe(true)
})

describe.each(FAULT_NAMES)('the fault %s', (name) => {
  it.each(FAULT_CASES[name].map((one) => ({ ...one, what: JSON.stringify(one.parameters ?? {}) })))(
    'strikes $at with $what, and the log tells what was said',
    async (one) => {
      ground.sandbox.setFaults([ruleOf(name, one)])

      const { next: seq } = await ground.logAfter(0)
      const asking = ground.ask(one.at, one.params)
      const heard = await hear(asking, one, seq)
      const [logged] = (await ground.logAfter(seq)).entries

      one.heard(heard, ground)
      expect(logged).toMatchObject({ endpoint: one.at, fault: name })
      expect(logged?.outcome).toEqual(one.outcome(ground))
      ground.sandbox.setFaults([])
    },
  )
})
