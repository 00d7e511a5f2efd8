import { createHash } from 'node:crypto'
import { type Db, sql } from '../../platform/db/database.ts'

/** Takes one message of an address's limit. Returns how long to wait if none is left; 0 if one was taken. */
export type EmailLimit = (target: {
  readonly endpointId: string
  readonly address: string
}) => Promise<number>

const HOUR_MS = 3_600_000

/**
 * A limit of messages an hour for each address of a reseller, kept by all processes together on the database's clock. It
 * belongs to the address, so another endpoint for it brings no more messages.
 *
 * About half of the messages may go out at once, and the rest are spread evenly. In any hour there are at most `perHour`:
 * with a burst of b and one message every hour/k there are at most b + k − 1. Source: the generic cell rate algorithm,
 * ITU-T I.371.
 */
export function createEmailLimit(db: Db, perHour: number): EmailLimit {
  const burst = Math.ceil(perHour / 2)
  const everyMs = HOUR_MS / (perHour - burst + 1)
  const aheadMs = (burst - 1) * everyMs
  return async ({ endpointId, address }) => {
    const hash = createHash('sha256').update(address.toLowerCase()).digest()
    const { rows } = await sql<{ waitMs: number }>`
      with clock as (select clock_timestamp() as now)
      insert into email_pace as p (reseller_id, address_hash, next_at)
      select e.reseller_id, ${hash}, clock.now + ${ms(everyMs)}
        from webhook_endpoint e, clock
       where e.id = ${endpointId}
      on conflict (reseller_id, address_hash) do update
         set next_at = case when p.next_at <= excluded.next_at + ${ms(aheadMs - everyMs)}
                            then greatest(p.next_at + ${ms(everyMs)}, excluded.next_at)
                            else p.next_at end
      returning case when old.next_at is distinct from new.next_at then 0
                     else ceil(extract(epoch from old.next_at - ${ms(aheadMs)} - clock_timestamp()) * 1000)::float8 end as "waitMs"
    `.execute(db)
    // An endpoint that was deleted meanwhile has no row.
    return Math.max(0, rows[0]?.waitMs ?? 0)
  }
}

function ms(value: number) {
  return sql`make_interval(secs => ${value / 1000})`
}
