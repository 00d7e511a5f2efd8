import { type EndpointFormat, OPERATORS } from '../../platform/base/kinds.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { nextSendAt, type SendTimes } from './endpoint-settings.ts'
import { SEALED_ENDPOINT, type SealedEndpoint } from './sealer.ts'

/** What the endpoints of operators are sent. */
export interface OperatorEvent {
  readonly type: string
  /** Whether it is sent in quiet hours too, and in no digest. */
  readonly isCritical: boolean
  readonly data: object
}

/** All that sending to an endpoint of operators needs, so that it can be done without the database. */
export interface OperatorEndpoint extends SealedEndpoint, SendTimes {
  readonly format: EndpointFormat
}

export async function listOperatorEndpoints(db: Db): Promise<OperatorEndpoint[]> {
  const { rows } = await sql<OperatorEndpoint>`
    select ${SEALED_ENDPOINT}, e.format, e.digest, e.quiet_hours as "quietHours"
      from webhook_endpoint e
     where e.reseller_id = ${OPERATORS.id} and e.disabled_at is null
     order by e.id
  `.execute(db)
  return rows
}

/** When an endpoint is sent an event of now. */
export function eventAt(endpoint: SendTimes, { isCritical }: OperatorEvent, now: Date): Date {
  return isCritical ? now : nextSendAt(endpoint, now)
}

/** Adds events to the deliveries of every enabled endpoint of operators. */
export async function addOperatorEvents(
  tx: Tx,
  events: readonly OperatorEvent[],
  now: Date,
): Promise<void> {
  if (events.length === 0) return
  const rows = (await listOperatorEndpoints(tx)).flatMap((endpoint) =>
    events.map((event) => ({
      ...event,
      endpointId: endpoint.id,
      at: eventAt(endpoint, event, now),
    })),
  )
  await sql`
    insert into delivery (endpoint_id, type, payload, recorded_at, due_at)
    select endpoint_id, type, payload, ${now}::timestamptz, at
      from unnest(${rows.map(({ endpointId }) => endpointId)}::uuid[], ${rows.map(({ type }) => type)}::text[],
                  ${rows.map(({ data }) => JSON.stringify(data))}::jsonb[], ${rows.map(({ at }) => at)}::timestamptz[])
           d (endpoint_id, type, payload, at)
  `.execute(tx)
  await sql`select ${notify('watch', sql`${OPERATORS.id}::bigint`)}`.execute(tx)
}
