/** A recurring piece of work: when it is due, and the job that does it. */
export interface Schedule {
  readonly name: string
  /** In UTC. */
  readonly cron: string
  readonly queue: string
  readonly payload: Readonly<Record<string, string>>
  /** How long after the very first start it is due first. */
  readonly firstAfterMs: number
}
