import type { DoctorReading } from '../../src/health/doctor-checks.ts'
import { AT } from './status-fixture.ts'

/** What doctor reads of a system in which all is well, as far as tests need it. */
export const reading: DoctorReading = {
  nowMs: AT.getTime(),
  faults: [],
  shell: { usesSandbox: false, lacksToken: false, sendsTokenInClear: false },
}
