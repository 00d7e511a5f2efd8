import { createHash } from 'node:crypto'
import type { EndpointFormat, LimitedPurpose } from '../../platform/base/kinds.ts'
import { percentDecoded } from '../../platform/base/text.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'

/** A limit for each target, whichever endpoints and resellers use it. */
interface TargetLimit {
  readonly purpose: LimitedPurpose
  /** How many are allowed in any window. */
  readonly atMost: number
  readonly windowMs: number
}

const HOUR_MS = 3_600_000

/** How many tests and examples a target is sent in an hour. */
export const TEST_LIMIT: TargetLimit = { purpose: 'test', atMost: 30, windowMs: HOUR_MS }

/** @param perHour the setting EMAIL_MESSAGES_PER_HOUR. */
export function messageLimit(perHour: number): TargetLimit {
  return { purpose: 'message', atMost: perHour, windowMs: HOUR_MS }
}

/**
 * Identifies a receiver: an address without regard to case, or the origin and the path of a URL. The query does not
 * count, because most receivers ignore it, so a reseller could add any.
 */
export function hashOfTarget({
  format,
  target,
}: {
  readonly format: EndpointFormat
  readonly target: string
}): Buffer {
  return hashOf(format === 'email' ? target.toLowerCase() : placeOf(target))
}

/** @example placeOf('https://A.example:443/%66ares/?x=1') // 'https://a.example/fares' */
function placeOf(target: string): string {
  const { protocol, hostname, port, pathname } = new URL(target)
  const host = hostname.replace(/\.$/, '')
  const path = percentDecoded(pathname).toLowerCase().replace(/\/+$/, '')
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${path}`
}

export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * Takes one of a target's limit. Returns how many milliseconds to wait if none is left; 0 if one was taken. All
 * processes share the limits, on the database's clock.
 *
 * About half may go at once, and the rest are spread evenly. In any window there are at most `atMost`: with a burst of
 * b and one every window/k there are at most b + k − 1. Source: the generic cell rate algorithm, ITU-T I.371.
 */
export async function takeFromLimit(
  db: Db,
  hash: Buffer,
  { purpose, atMost, windowMs }: TargetLimit,
): Promise<number> {
  const burst = Math.ceil(atMost / 2)
  const everyMs = windowMs / (atMost - burst + 1)
  const aheadMs = (burst - 1) * everyMs
  const { waitMs } = await selectOne(
    sql<{ waitMs: number }>`
      insert into target_pace as p (purpose, target_hash, next_at)
      values (${purpose}, ${hash}, clock_timestamp() + ${ms(everyMs)})
      on conflict (purpose, target_hash) do update
         -- Not excluded.next_at: it was computed before the wait for the row of another process.
         set next_at = case when p.next_at <= clock_timestamp() + ${ms(aheadMs)}
                            then greatest(p.next_at, clock_timestamp()) + ${ms(everyMs)}
                            else p.next_at end
      returning case when old.next_at is distinct from new.next_at then 0
                     else greatest(1, ceil(extract(epoch from old.next_at - ${ms(aheadMs)} - clock_timestamp()) * 1000))::float8
                end as "waitMs"
    `,
    db,
  )
  return waitMs
}

function ms(value: number) {
  return sql`make_interval(secs => ${value / 1000})`
}
