import { BODY_FAULTS } from './body-faults.ts'
import type { FaultKind } from './fault-kind.ts'
import { FIELD_FAULTS } from './field-faults.ts'
import { LIST_FAULTS } from './list-faults.ts'
import { SIZE_FAULTS } from './size-faults.ts'
import { STATUS_FAULTS } from './status-faults.ts'
import { VERIFY_FAULTS } from './verify-faults.ts'
import { WIRE_FAULTS } from './wire-faults.ts'

const KINDS = {
  ...STATUS_FAULTS,
  ...WIRE_FAULTS,
  ...BODY_FAULTS,
  ...SIZE_FAULTS,
  ...LIST_FAULTS,
  ...FIELD_FAULTS,
  ...VERIFY_FAULTS,
}

export type FaultName = keyof typeof KINDS

/** Everything that the sandbox can do wrong, by name. */
export const FAULTS: Readonly<Record<FaultName, FaultKind>> = KINDS

export const FAULT_NAMES = Object.keys(KINDS) as readonly FaultName[]

export function isFaultName(name: unknown): name is FaultName {
  return typeof name === 'string' && Object.hasOwn(FAULTS, name)
}
