import type { FaultName, FaultRule } from '../../../sandbox/faults/fault-rule.ts'
import { BODY_CASES } from './body-cases.ts'
import type { FaultCase } from './fault-case.ts'
import { SHAPE_CASES } from './shape-cases.ts'
import { VERIFY_CASES } from './verify-cases.ts'
import { WIRE_CASES } from './wire-cases.ts'

/** What each fault does, as a client on a socket sees it. A fault without a case does not compile. */
export const FAULT_CASES: Readonly<Record<FaultName, readonly FaultCase[]>> = {
  ...WIRE_CASES,
  ...BODY_CASES,
  ...SHAPE_CASES,
  ...VERIFY_CASES,
}

export function ruleOf(name: FaultName, { parameters = {} }: FaultCase): FaultRule {
  return { name, ...parameters }
}
