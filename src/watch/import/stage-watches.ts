import { sql, type Tx } from '../../db/database.ts'
import type { NumberedEntry } from '../rows/check-rows.ts'
import type { WatchEntry } from '../rows/watch-entry.ts'

/**
 * Stages a file's entries in a temporary table of the caller's transaction, `staged_watch`, a batch a statement. It
 * ends with the transaction, and with the process. Returns how many.
 */
export async function stageWatches(
  tx: Tx,
  batches: AsyncIterable<readonly NumberedEntry[]>,
  onProgress: (rows: number) => void,
): Promise<number> {
  await createStagingTable(tx)
  let rows = 0
  for await (const batch of batches) {
    await insertStaged(
      tx,
      batch.map(({ entry }) => entry),
    )
    rows += batch.length
    onProgress(rows)
  }
  await sql`analyze staged_watch`.execute(tx)
  return rows
}

/** No return flight is the empty text here, so that equal questions can be found by a hash join. */
async function createStagingTable(tx: Tx): Promise<void> {
  await sql`
    create temp table staged_watch (
      list text collate "C" not null, reference text collate "C" not null,
      flight_id text collate "C" not null, return_flight_id text collate "C" not null,
      residents_adults smallint not null, residents_children smallint not null, residents_infants smallint not null,
      non_residents_adults smallint not null, non_residents_children smallint not null,
      non_residents_infants smallint not null,
      price_threshold_amount numeric, price_threshold_percent numeric,
      departs_on date, min_interval_seconds integer
    ) on commit drop
  `.execute(tx)
}

async function insertStaged(tx: Tx, entries: readonly WatchEntry[]): Promise<void> {
  const column = <T>(value: (entry: WatchEntry) => T) => entries.map(value)
  await sql`
    insert into staged_watch
    select * from unnest(
      ${column((e) => e.list)}::text[],
      ${column((e) => e.reference)}::text[],
      ${column((e) => e.question.flightId)}::text[],
      ${column((e) => e.question.returnFlightId ?? '')}::text[],
      ${column((e) => e.question.passengers.residents.adults)}::smallint[],
      ${column((e) => e.question.passengers.residents.children)}::smallint[],
      ${column((e) => e.question.passengers.residents.infants)}::smallint[],
      ${column((e) => e.question.passengers.nonResidents.adults)}::smallint[],
      ${column((e) => e.question.passengers.nonResidents.children)}::smallint[],
      ${column((e) => e.question.passengers.nonResidents.infants)}::smallint[],
      ${column((e) => e.priceThresholdAmount)}::numeric[],
      ${column((e) => e.priceThresholdPercent)}::numeric[],
      ${column((e) => e.departsOn)}::date[],
      ${column((e) => e.minIntervalSeconds)}::integer[])
  `.execute(tx)
}
