import { recordAction } from '../../platform/db/audit.ts'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'

/** What operators allow for a while, of all processes together. The setting remains the upper bound. */
export interface BudgetLimit {
  readonly requestsPerSecond: number
  readonly until: Date
  readonly reason: string
  /** Who set it: a key, or `cli`. */
  readonly by: string
}

/** The limit in force; undefined if there is none. */
export async function readBudgetLimit(db: Db): Promise<BudgetLimit | undefined> {
  const { rows } = await sql<BudgetLimit>`
    select limit_per_second as "requestsPerSecond", limited_until as until, limit_reason as reason, limited_by as by
      from upstream_budget
     where limited_until > clock_timestamp()
  `.execute(db)
  return rows[0]
}

/** The rate that the setting and a limit allow. */
export function presentRate(
  setting: number,
  limit: Pick<BudgetLimit, 'requestsPerSecond'> | null | undefined,
): number {
  return Math.min(setting, limit?.requestsPerSecond ?? setting)
}

/** Limits the budget of all processes. Slots that are reserved already, at most five seconds ahead, are kept. */
export function limitBudget(db: Db, limit: BudgetLimit): Promise<void> {
  const { requestsPerSecond, until, reason, by } = limit
  const target = `${requestsPerSecond} requests a second until ${until.toISOString()}`
  return inTransaction(db, async (tx) => {
    await sql`
      update upstream_budget
         set limit_per_second = ${requestsPerSecond}, limited_until = ${until}, limit_reason = ${reason}, limited_by = ${by}
    `.execute(tx)
    await recordAction(tx, { by, action: 'budget limit', target, reason })
  })
}

/** Ends the limit. Returns the one that was in force. */
export function endBudgetLimit(db: Db, by: string): Promise<BudgetLimit | undefined> {
  return inTransaction(db, async (tx) => {
    const limit = await readBudgetLimit(tx)
    if (limit === undefined) return undefined
    await sql`
      update upstream_budget
         set limit_per_second = null, limited_until = '-infinity', limit_reason = null, limited_by = null
    `.execute(tx)
    await recordAction(tx, { by, action: 'budget limit ended' })
    return limit
  })
}

/** The SQL of the spacing that the limit of the budget's row asks for, in microseconds; 0 without a limit. */
export function limitSpacingUs(share: number): RawBuilder<number> {
  return sql`
    case when limited_until > now then ceil(1000000 / (limit_per_second * ${share}::float8)) else 0 end
  `
}
