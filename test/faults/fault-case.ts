import type { RunStatus } from '../../src/base/kinds.ts'
import type { SyncCounts } from '../../src/route-sync/runs/sync-run.ts'
import type { FaultName, FaultRule } from '../../src/sandbox/faults/fault-rule.ts'
import type { AnswerAnomaly, UnknownReason } from '../../src/upstream/observation.ts'
import type { RouteListName } from '../../src/upstream/route-list.ts'
import type { UpstreamLimits } from '../../src/upstream/upstream-limits.ts'

/** The kinds of trouble that an upstream can make, as docs/reference/upstream.md lists them. */
export const DANGERS = [
  'server errors',
  'asked to wait',
  'credential refused',
  'slow or silent',
  'cut off',
  'something else than promised',
  'a list not to be believed',
  'a list that contradicts itself',
  'too much',
  'hostile text',
  'redirects',
  'odd verify answers',
  'forbidden questions',
  'mass loss',
  'dead ids',
] as const
export type Danger = (typeof DANGERS)[number]

/** One thing that goes wrong, and what must come of it. */
export interface FaultCase {
  readonly danger: Danger
  readonly parameters?: Readonly<Record<string, string | number>>
  readonly limits?: Partial<UpstreamLimits>
  /** Absent where the fault cannot strike a list. */
  readonly list?: ListOutcome
  /** Absent where it cannot strike a verify answer. */
  readonly verify?: VerifyOutcome
}

export interface ListOutcome {
  /** `routes` unless given. */
  readonly of?: RouteListName
  /** What the client ends with: `ok`, or the code of its error. */
  readonly client: string
  readonly run: RunStatus
  /** The code of the run's reason; of the client's error unless given. */
  readonly reason?: string
  /** What the run counted, of a list that was applied. */
  readonly counts?: Partial<Record<keyof SyncCounts, unknown>>
}

/** What is said of one leg. */
export type Said = 'available' | 'unavailable' | UnknownReason

/** Of a flight that can be booked, of one that is sold out, and of two that can be booked, asked together. */
export interface Answers {
  readonly open: Said
  readonly sold: Said
  readonly pair: readonly [Said, Said]
}

export interface VerifyOutcome {
  /** The client's observations. */
  readonly client: Answers
  /** What is odd about the answers, of all three together. */
  readonly anomalies?: readonly AnswerAnomaly[]
  /** Why a fare's check told nothing, where that is not the client's own reason. */
  readonly reasons?: Partial<Record<keyof Answers, UnknownReason>>
  /** Records of changes, by fare: none unless the answer is a good one that says something new. */
  readonly changes?: Partial<Record<keyof Answers, readonly string[]>>
}

export const HONEST: Answers = {
  open: 'available',
  sold: 'unavailable',
  pair: ['available', 'available'],
}

export function everywhere(said: Said): Answers {
  return { open: said, sold: said, pair: [said, said] }
}

/** A list that is refused and a verify answer that tells nothing. */
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

/** The cases of some of the faults; all of them together must be all faults. */
export type CasesOf<K extends string> = Readonly<Record<K, readonly FaultCase[]>>
