/** What the end of a tracked fare is judged by. */
export interface ExpiryFacts {
  /** Local time of the outbound flight's departure, `YYYY-MM-DD HH:MM`; null where it was never seen. */
  readonly departsAt: string | null
  /** The departure date that its watches gave, `YYYY-MM-DD`; null where one of them gave none. */
  readonly departsOn: string | null
  readonly createdAt: Date
  readonly everAvailableAt: string | null
  readonly now: Date
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The place where local time is furthest behind: UTC−12. What has passed there has passed everywhere. */
const LAST_PLACE_MS = 12 * HOUR_MS
/** A fare that was never available for so long is a wrong id, or a flight that will not be sold. */
const PATIENCE_MS = 30 * DAY_MS

/**
 * Whether a fare has come to its end: its departure has passed everywhere on earth, or the whole day on which it
 * was to depart has, or 30 days went by without its ever being bookable.
 *
 * Places are not looked up in a table of time zones: some have no code, and half a day of checks too many costs
 * less than a fare that ends while it can still be bought.
 * @example isExpired with departsAt '2026-05-01 10:00' // true after 2026-05-01T22:00Z
 */
export function isExpired({
  departsAt,
  departsOn,
  createdAt,
  everAvailableAt,
  now,
}: ExpiryFacts): boolean {
  return (
    (departsAt !== null && passedEverywhere(`${departsAt.replace(' ', 'T')}Z`, now)) ||
    (departsOn !== null && passedEverywhere(`${departsOn}T24:00Z`, now)) ||
    (everAvailableAt === null && now.getTime() - createdAt.getTime() > PATIENCE_MS)
  )
}

/** A text that is no time never passes: a fare must not end by a mistake in writing. */
function passedEverywhere(localAsUtc: string, now: Date): boolean {
  return now.getTime() > Date.parse(localAsUtc) + LAST_PLACE_MS
}
