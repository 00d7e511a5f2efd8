/** One RFC 9457 problem, as every endpoint of ours answers it. */
export interface Problem {
  readonly status: number
  /** Stable, for machines. */
  readonly code: string
  readonly title: string
  readonly detail?: string
}

export const PROBLEM_TYPE = 'application/problem+json'
