import { percent } from '../plan/guard.ts'

/** What is known of the routes that a suspicious list lacks. */
export interface LossPattern {
  /** Rows in the list, duplicates included. */
  readonly rows: number
  readonly bytes: number
  /** Live (or available) routes before the list, and those of them that it lacks. */
  readonly live: number
  readonly missing: number
  /** Every country of departure with live routes. */
  readonly countries: readonly CountryLoss[]
  /** Missing routes that stand behind the last present one in the last accepted list; null if that list is not stored. */
  readonly atEnd: number | null
  readonly season: SeasonPattern | null
}

export interface CountryLoss {
  readonly country: string
  readonly live: number
  readonly missing: number
}

/** The routes that ended in the same weeks of last year and came back. Null where the history is shorter. */
export interface SeasonPattern {
  /** Those of them that were live before the list. */
  readonly ended: number
  /** Those of them that the list lacks. */
  readonly missing: number
}

export const LOSS_CAUSES = ['accident', 'season', 'unclear'] as const
export type LossCause = (typeof LOSS_CAUSES)[number]

/** The more likely cause of a loss, with one sentence for each sign of it. */
export interface LossAssessment {
  readonly cause: LossCause
  readonly signs: readonly string[]
}

/** A page of an interface or a query has a round number of rows. A true list has one by chance in one of 500 cases. */
const PAGE_ROWS = 500
/** A buffer that was not written to its end has a multiple of this size. By chance one of 4,096 lists has. */
const BUFFER_BYTES = 4_096
const AT_END_SHARE = 0.95
const WHOLE_COUNTRY_SHARE = 0.95
/** Countries with fewer routes lose large and small shares by chance. */
const COUNTED_FROM = 20
const FEWEST_COUNTRIES = 5
/** Of the routes that ended in the same weeks of last year, a season's list lacks at least this share. */
const SEASON_SHARE = 0.5
/** Of its missing routes, at most this share did not end in these weeks of last year, */
const OTHERS_SHARE = 0.1
/** and at most this share of the live routes: in a network that mostly ends in autumn, a tenth of the loss is a cut. */
const OTHERS_OF_LIVE = 0.02

/** Says what a person would conclude from the pattern of a loss. */
export function assessLoss(pattern: LossPattern): LossAssessment {
  const accident = [
    roundRows(pattern),
    roundBytes(pattern),
    endOfList(pattern),
    wholeCountries(pattern),
    evenly(pattern),
  ].filter((sign) => sign !== null)
  const season = seasonSign(pattern)
  const isSeason = isSeasonal(pattern)
  // A season takes other shares of each country and no end of a list, so signs of both leave it open.
  const cause = isSeason ? (accident.length === 0 ? 'season' : 'unclear') : causeOf(accident)
  return { cause, signs: [...accident, ...season] }
}

function causeOf(accident: readonly string[]): LossCause {
  return accident.length > 0 ? 'accident' : 'unclear'
}

/**
 * Whether the missing routes are those that ended in the same weeks of last year: nine of ten are, and they are at least half of
 * those. A list that was cut lacks other routes too, or only a part of the season's.
 */
export function isSeasonal({
  live,
  missing,
  season,
}: Pick<LossPattern, 'live' | 'missing' | 'season'>): boolean {
  if (season === null || season.missing === 0) return false
  const others = missing - season.missing
  if (others > OTHERS_SHARE * missing || others > OTHERS_OF_LIVE * live) return false
  return season.missing >= SEASON_SHARE * season.ended
}

/** Whether the loss has the shape of a cut. A season takes single routes all over the list, in all countries. */
export function resemblesCut(pattern: LossPattern): boolean {
  return endOfList(pattern) !== null || wholeCountries(pattern) !== null
}

function roundRows({ rows }: LossPattern): string | null {
  if (rows === 0 || rows % PAGE_ROWS !== 0) return null
  return `The list has exactly ${NUMBER.format(rows)} rows, like one or more full pages: the next page is missing.`
}

function roundBytes({ bytes }: LossPattern): string | null {
  if (bytes === 0 || bytes % BUFFER_BYTES !== 0) return null
  return `The list has exactly ${NUMBER.format(bytes)} bytes, a multiple of 4 KiB: a buffer was not written to its end.`
}

function endOfList({ atEnd, missing }: LossPattern): string | null {
  if (atEnd === null || atEnd < AT_END_SHARE * missing) return null
  return `${share(atEnd, missing)} of the missing routes are the end of the last accepted list: the list was cut.`
}

function wholeCountries({ countries, missing }: LossPattern): string | null {
  const gone = countries.filter((c) => c.missing >= WHOLE_COUNTRY_SHARE * c.live)
  const inThem = gone.reduce((sum, c) => sum + c.missing, 0)
  if (gone.length === countries.length || inThem < AT_END_SHARE * missing) return null
  const names = gone.slice(0, 3).map(({ country }) => country || '(no country)')
  const more = gone.length > names.length ? ` and ${gone.length - names.length} more` : ''
  return `${names.join(', ')}${more} lost all routes, and the other countries next to none: a source of the upstream is missing.`
}

/** A cut in a list without order hits every country alike. A season does not. */
function evenly({ countries, live, missing }: LossPattern): string | null {
  const large = countries.filter((c) => c.live >= COUNTED_FROM)
  const overall = missing / live
  if (large.length < FEWEST_COUNTRIES || overall > WHOLE_COUNTRY_SHARE) return null
  const alike = large.filter((c) => {
    // Three standard deviations of a draw of this many routes.
    const deviation = Math.sqrt((overall * (1 - overall)) / c.live)
    return Math.abs(c.missing / c.live - overall) <= 3 * deviation
  })
  if (alike.length < AT_END_SHARE * large.length) return null
  return `Every country lost about the same share (${percent(overall)}), as if the list was cut at random.`
}

function seasonSign({ season, missing }: LossPattern): string[] {
  if (season === null)
    return ['The history is too short to compare with the same weeks of last year.']
  const { ended } = season
  if (ended === 0)
    return ['In the same weeks of last year no route ended that was live before this list.']
  return [
    `In the same weeks of last year ${NUMBER.format(ended)} of the live routes ended. The list lacks ${NUMBER.format(season.missing)} of them, which is ${share(season.missing, missing)} of all that it lacks.`,
  ]
}

const NUMBER = new Intl.NumberFormat('en-US')

function share(part: number, whole: number): string {
  return percent(part / whole)
}
