import type { FaultName } from '../../sandbox/faults/fault-rule.ts'
import { BODY_CASES, STATUS_CASES, WIRE_CASES } from './answer-cases.ts'
import { FIELD_CASES, VERIFY_CASES } from './content-cases.ts'
import type { CasesOf } from './fault-case.ts'
import { LIST_CASES, SIZE_CASES } from './list-cases.ts'

/** The expected results of each fault of the sandbox, from the client to the records. Each fault must have a case. */
export const FAULT_CASES: CasesOf<FaultName> = {
  ...STATUS_CASES,
  ...WIRE_CASES,
  ...BODY_CASES,
  ...SIZE_CASES,
  ...LIST_CASES,
  ...FIELD_CASES,
  ...VERIFY_CASES,
}
