import type { FaultName, FaultRule } from '../../sandbox/faults/fault-rule.ts'
import type { RouteListName, RunStatus, UnknownReason } from '../../src/platform/base/kinds.ts'
import type { SyncCounts } from '../../src/routes/runs.ts'
import type { AnswerAnomaly } from '../../src/upstream/observation.ts'
import type { UpstreamLimits } from '../../src/upstream/transport/http-exchange.ts'

/** The kinds of trouble that an upstream can cause, in the order of test/faults/faults.md. */
export const DANGERS = [
  'server errors',
  'asked to wait',
  'credential refused',
  'slow or no answers',
  'truncated answers',
  'contract violations',
  'implausible lists',
  'contradictory lists',
  'oversized answers',
  'hostile text',
  'redirects',
  'anomalous verify answers',
  'forbidden questions',
  'mass loss',
  'dead ids',
] as const
export type Danger = (typeof DANGERS)[number]

/** One fault, and its expected results. */
export interface FaultCase {
  readonly danger: Danger
  readonly parameters?: Readonly<Record<string, string | number>>
  readonly limits?: Partial<UpstreamLimits>
  /** Unset if the fault does not apply to lists. */
  readonly list?: ListOutcome
  /** Unset if the fault does not apply to verify answers. */
  readonly verify?: VerifyOutcome
}

export interface ListOutcome {
  /** Default: `routes`. */
  readonly of?: RouteListName
  /** The client's result: `ok`, or the code of its error. */
  readonly client: string
  readonly run: RunStatus
  /** The code of the run's reason. Default: the code of the client's error. */
  readonly reason?: string
  /** The counts of the run, for an applied list. */
  readonly counts?: Partial<Record<keyof SyncCounts, unknown>>
}

/** The observation of one leg. */
export type LegResult = 'available' | 'unavailable' | UnknownReason

/** The observations of a bookable flight, of a sold-out flight, and of two bookable flights in one question. */
export interface Answers {
  readonly open: LegResult
  readonly sold: LegResult
  readonly pair: readonly [LegResult, LegResult]
}

export interface VerifyOutcome {
  /** The client's observations. */
  readonly client: Answers
  /** The anomalies of all three answers together. */
  readonly anomalies?: readonly AnswerAnomaly[]
  /** Why a fare's check was unknown, if the reason differs from the client's. */
  readonly reasons?: Partial<Record<keyof Answers, UnknownReason>>
  /** Recorded changes, by fare. Only a valid answer with news records a change. */
  readonly changes?: Partial<Record<keyof Answers, readonly string[]>>
}

export const CORRECT: Answers = {
  open: 'available',
  sold: 'unavailable',
  pair: ['available', 'available'],
}

export function everywhere(result: LegResult): Answers {
  return { open: result, sold: result, pair: [result, result] }
}

/** The list is refused, and the verify answer is unknown. */
export function refused(
  code: string,
  reason: UnknownReason,
  { run = 'rejected' }: { readonly run?: RunStatus } = {},
): Required<Pick<FaultCase, 'list' | 'verify'>> {
  return { list: { client: code, run }, verify: { client: everywhere(reason) } }
}

export function ruleOf(name: FaultName, { parameters = {} }: FaultCase): FaultRule {
  return { name, ...parameters }
}

/** The cases of some of the faults. */
export type CasesOf<K extends string> = Readonly<Record<K, readonly FaultCase[]>>
