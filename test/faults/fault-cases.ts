import type { FaultName } from '../../src/sandbox/faults/fault-rule.ts'
import { BODY_CASES, STATUS_CASES, WIRE_CASES } from './answer-cases.ts'
import type { CasesOf } from './fault-case.ts'
import { LIST_CASES, SIZE_CASES } from './list-cases.ts'
import { FIELD_CASES, VERIFY_CASES } from './said-cases.ts'

/** What comes of each fault of the sandbox, from the client to what is recorded: one without a case does not compile. */
export const FAULT_CASES: CasesOf<FaultName> = {
  ...STATUS_CASES,
  ...WIRE_CASES,
  ...BODY_CASES,
  ...SIZE_CASES,
  ...LIST_CASES,
  ...FIELD_CASES,
  ...VERIFY_CASES,
}
