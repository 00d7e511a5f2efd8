import { readRecords } from '../../feeds/watch-feed-queries.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Message } from '../formats/format.ts'
import type { ClaimedDelivery, ReadyEndpoint } from './claim-deliveries.ts'

/** A delivery with what a format sends of it. */
export interface ComposedDelivery {
  readonly delivery: ClaimedDelivery
  readonly message: Message
}

/** Reads the records of claimed deliveries, in the order of the feed. `data` is what `/api/v1/watch-changes` answers. */
export async function composeMessages(
  tx: Tx,
  claimed: readonly ClaimedDelivery[],
  ready: readonly ReadyEndpoint[],
): Promise<ComposedDelivery[]> {
  const resellerOf = new Map(ready.map(({ id, resellerId }) => [id, resellerId]))
  const placeOf = ({ endpointId, seq }: ClaimedDelivery) =>
    seq === null ? [] : [{ resellerId: resellerOf.get(endpointId) ?? 0, seq }]
  const places = claimed.flatMap(placeOf)
  const records = places.length === 0 ? [] : await readRecords(tx, places)
  const byPlace = new Map(
    records.map(({ resellerId, ...record }) => [`${resellerId}/${record.seq}`, record]),
  )
  return claimed
    .map((delivery) => {
      const [place] = placeOf(delivery)
      const record =
        place === undefined ? undefined : byPlace.get(`${place.resellerId}/${place.seq}`)
      const { id, type, payload, previousSeq, recordedAt } = delivery
      const message: Message = {
        deliveryId: id,
        type: record === undefined ? (type ?? '') : `fare.${record.kind}`,
        timestamp: recordedAt.toISOString(),
        data: record === undefined ? payload : { ...record, previous: previousSeq },
      }
      return { delivery, message }
    })
    .toSorted((a, b) => (a.delivery.seq ?? 0) - (b.delivery.seq ?? 0))
}

/** The limit of a payload. Records are far smaller: texts in them have limits. */
const MAX_PAYLOAD_BYTES = 20_000

export function isTooLarge({ type, timestamp, data }: Message): boolean {
  return Buffer.byteLength(JSON.stringify({ type, timestamp, data })) > MAX_PAYLOAD_BYTES
}
