import { ALL_FACTORS, type Switches } from '../../src/recheck/policy/span-factors.ts'
import { learningPolicy, type Policy, rootOracle, rootWeight, roundRobin } from './policies.ts'

const NO_FACTORS: Switches = { hazard: false, recency: false, surprise: false }

/** The policies that the benchmark compares, by name. Each call makes one that has learned nothing. */
export const CONTENDERS = {
  'round robin': roundRobin,
  proportional: learning('proportional', NO_FACTORS, true),
  '√ of the weight': rootWeight,
  '√ oracle': rootOracle,
  ours: learning('ours', ALL_FACTORS),
  'ours without hazard': learning('ours without hazard', { ...ALL_FACTORS, hazard: false }),
  'ours without recency': learning('ours without recency', { ...ALL_FACTORS, recency: false }),
  'ours without surprise': learning('ours without surprise', { ...ALL_FACTORS, surprise: false }),
  'ours without factors': learning('ours without factors', NO_FACTORS),
} as const satisfies Readonly<Record<string, (requestsPerSecond: number) => Policy>>

export type Contender = keyof typeof CONTENDERS

function learning(name: string, switches: Switches, proportional = false) {
  return (requestsPerSecond: number) =>
    learningPolicy(name, { requestsPerSecond, switches, proportional })
}
