import { ArchiveError } from './archive-error.ts'

/** What decides the floor of one feed. */
export interface FeedFacts {
  /** The present floor. */
  readonly first: number
  /** 0 before the first record. */
  readonly last: number
  /** The first number that was recorded since the date; null if none was. */
  readonly firstSince: number | null
}

/** The feed of a reseller's watches, with the endpoints that it is sent to. */
export interface ResellerFacts extends FeedFacts {
  readonly id: number
  readonly name: string
  readonly endpoints: readonly {
    readonly id: string
    /** The last number that the fan-out has read for it. */
    readonly cursor: number
    /** The first number with a delivery that is pending or may be replayed; null if there is none. */
    readonly firstDelivery: number | null
  }[]
}

/** Records before the date that stay, because an endpoint needs them. */
export interface Need {
  readonly reseller: string
  readonly endpointId: string
  /** The first number that it needs. */
  readonly seq: number
  readonly why: 'cursor' | 'delivery'
}

/**
 * The first number that a feed keeps: the first one since the date or that is needed. The last record always stays, because
 * the state of the feed is read from it.
 */
export function floorOf({ first, last, firstSince }: FeedFacts, needed: readonly number[]): number {
  return Math.max(first, Math.min(last, firstSince ?? last, ...needed))
}

/** What the endpoints of a reseller need of the records that the date alone would archive. */
export function needsOf(reseller: ResellerFacts): Need[] {
  const floor = floorOf(reseller, [])
  return reseller.endpoints.flatMap(({ id, cursor, firstDelivery }) => {
    const seq = Math.min(cursor + 1, firstDelivery ?? cursor + 1)
    const why = firstDelivery === seq ? 'delivery' : 'cursor'
    return seq < floor ? [{ reseller: reseller.name, endpointId: id, seq, why }] : []
  })
}

/** The page shows the beliefs of the last 60 days, and guards, incidents and replays of deliveries read less. */
export const KEPT_DAYS = 60
const DAY_MS = 86_400_000

export interface DateFacts {
  readonly now: Date
  /** The valid time of the last accepted list; null if there is none. */
  readonly lastListAt: Date | null
}

/** Throws ArchiveError if rows before the date are needed or may still be written. */
export function assertDate(before: Date, { now, lastListAt }: DateFacts): void {
  const latest = new Date(now.getTime() - KEPT_DAYS * DAY_MS)
  if (before > latest) {
    throw new ArchiveError(
      `--before must be ${dayOf(latest)} or earlier: the last ${KEPT_DAYS} days stay in the database`,
    )
  }
  if (lastListAt === null || lastListAt < before) {
    throw new ArchiveError(
      `no route list has been accepted since ${dayOf(before)}, so changes before that day may still be recorded: choose an earlier day`,
    )
  }
}

export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10)
}
