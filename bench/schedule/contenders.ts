import { ALL_FACTORS, type Switches } from '../../src/schedule/policy/rate-model.ts'
import {
  LearningPolicy,
  type Policy,
  proportional,
  rootOracle,
  rootWeight,
  roundRobin,
} from './policies.ts'

/** The policies that the benchmark compares, by name. Each call makes one that has learned nothing. */
export const CONTENDERS = {
  'round robin': roundRobin,
  proportional,
  '√ of the weight': rootWeight,
  '√ oracle': rootOracle,
  ours: learning(ALL_FACTORS),
  'ours with lists': learning(ALL_FACTORS, true),
  'ours without recency': learning({ ...ALL_FACTORS, recency: false }),
  'ours without surprise': learning({ ...ALL_FACTORS, surprise: false }),
  'ours without factors': learning({ recency: false, surprise: false }),
} as const satisfies Readonly<Record<string, (requestsPerSecond: number) => Policy>>

export type Contender = keyof typeof CONTENDERS

function learning(switches: Switches, lists = false) {
  return (requestsPerSecond: number) => new LearningPolicy({ requestsPerSecond, switches, lists })
}
