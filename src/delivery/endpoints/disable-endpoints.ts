import type { EventReason } from '../../platform/base/kinds.ts'
import { sql, type Tx } from '../../platform/db/database.ts'

/**
 * Disables endpoints whose receiver is gone, failing or not allowed, and sends `webhook.disabled` to the other endpoints
 * of their resellers. Returns the ids of those that were enabled. Their deliveries stay pending and their cursors stay,
 * so that nothing is lost when they are enabled again.
 */
export async function disableEndpoints(
  tx: Tx,
  ids: readonly string[],
  reason: EventReason,
): Promise<string[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    update webhook_endpoint
       set disabled_at = clock_timestamp(), disabled_reason = ${reason}, updated_at = clock_timestamp()
     where id = any(${ids}::uuid[]) and disabled_at is null
    returning id
  `.execute(tx)
  const disabled = rows.map(({ id }) => id)
  await sql`
    insert into delivery (endpoint_id, type, payload, recorded_at)
    select other.id, 'webhook.disabled',
           jsonb_build_object('endpointId', e.id, 'description', e.description, 'target', split_part(e.target_shown, '/…', 1),
                              'reason', e.disabled_reason, 'disabledAt', e.disabled_at),
           e.disabled_at
      from webhook_endpoint e
      join webhook_endpoint other on other.reseller_id = e.reseller_id and other.disabled_at is null
     where e.id = any(${disabled}::uuid[])
  `.execute(tx)
  return disabled
}
