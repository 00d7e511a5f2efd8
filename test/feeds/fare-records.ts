import { readWatchChanges } from '../../src/feeds/watch-feed-queries.ts'
import type { WatchChange } from '../../src/feeds/watch-record.ts'

/** The records of a feed that has none of routes. */
export async function readFareRecords(
  ...args: Parameters<typeof readWatchChanges>
): Promise<WatchChange[]> {
  return (await readWatchChanges(...args)) as WatchChange[]
}
