import { type Static, Type } from 'typebox'
import {
  endedView,
  type FareState,
  type FareView,
  hiddenView,
  legsOf,
  stateOfRow,
  unknownView,
  withoutPrice,
} from '../fares/state.ts'
import { Belief, Flight, Price } from '../feeds/change-shapes.ts'
import { publicFare, publicFlight } from '../feeds/public-fare.ts'
import { isAhead } from '../platform/base/clock.ts'
import { HIDDEN_REASONS, SHOWN_PRICE_REASONS, WATCH_STATUSES } from '../platform/base/kinds.ts'
import { type Money, moneyOf } from '../platform/base/money.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { RETRY_AFTER_SECONDS, type ScheduleRules } from '../schedule/due.ts'
import { WatchPaceShape } from '../schedule/turn-shapes.ts'
import type { FlightSummary } from '../upstream/observation.ts'
import { watchMembers } from '../watches/operations/watch-operations.ts'
import type { Watch } from '../watches/watch-lists.ts'
import type { WatchFacts } from './watch-facts.ts'

/** What is known of a fare whose belief does not show all its flights. */
interface LastFlight {
  readonly outbound: Flight | null
  readonly return: Flight | null
  readonly price: Money | null
  readonly at: Date | null
}

const LastFlightShape = object(
  {
    outbound: orNull(Flight),
    return: orNull(Flight),
    price: orNull(
      Price,
      'The last price since the watch began at which the fare was bookable. Null if there was none.',
    ),
    at: orNull(
      Instant,
      'When the last check began that showed the fare bookable, since the watch began. Of a paused watch: since when it ' +
        'showed this price. Null if none did.',
    ),
  },
  { title: 'LastFlight' },
)

/** Why a check is made, as far as the watch itself explains it. */
const CHECK_WHYS = ['first_check', 'confirmation', 'retry', 'scheduled'] as const
type CheckWhy = (typeof CHECK_WHYS)[number]

/** What a watch shows of its fare. */
export const viewMembers = {
  status: oneOf(WATCH_STATUSES, {
    title: 'WatchStatus',
    description:
      'new: nothing is believed of the fare yet. stale: the last good check is too old. expired: the flight has ' +
      'departed, the `departsOn` of the watch has passed, or it was not available for 30 days. paused: you paused the watch, or your account is disabled.',
  }),
  belief: Belief,
  lastFlight: Type.Unsafe<LastFlight | null>(
    orNull(
      LastFlightShape,
      'The flights as the last answers showed them, and their last price: of a fare that is sold out or has departed, and ' +
        'of a paused watch as they were when it was paused. Null while `belief` shows all flights, if no answer ever ' +
        'showed one, and if the watch ended before the departure.',
    ),
  ),
  lastGoodCheckAt: orNull(
    Instant,
    'When the last check began that agreed with the belief in availability, identity, itinerary and site. The price has its own age.',
  ),
  lastCheckAt: orNull(Instant),
  lastCheckWhy: orNull(
    oneOf(CHECK_WHYS),
    'Why the fare was checked last, as `why` of `next`. scheduled: in its turn, or for a reason that is not this watch’s. ' +
      'Null if the watch began after the check.',
  ),
  lastReason: orNull(Type.String(), 'Why the last check was unknown. Null if it was good.'),
  priceCheckedAt: orNull(
    Instant,
    'When the last check began that showed the price of every leg. Null unless the fare is bookable.',
  ),
  priceReason: orNull(
    oneOf(SHOWN_PRICE_REASONS),
    'Why the last answers did not show the price of a bookable fare, or why it is unknown. unreadable: the upstream’s ' +
      'price cannot be read. unconfirmed: another currency, or a change by more than a tenth, was seen once. ' +
      'mixed_currencies: the legs have no common currency. held: the prices of many flights change at once, and wait. ' +
      'stale: the last check that showed it is too old.',
  ),
  hiddenReason: orNull(
    oneOf(HIDDEN_REASONS),
    'Why the belief is shown as unknown although it is fresh. held: many flights change at once, so the change waits for ' +
      'some minutes. identity_mismatch: the answers show another flight. unanswered: the last answers, five or more, were ' +
      'unusable: `lastReason` says why.',
  ),
  contradictedSince: orNull(
    Instant,
    'When the first answer began that contradicts the belief, without one since that agreed. Null where none does.',
  ),
  heldSince: orNull(Instant, 'Since when a change is held. Null where none is.'),
  next: orNull(
    object(
      {
        notBefore: Instant,
        why: oneOf(CHECK_WHYS, {
          description:
            'first_check: the first check. scheduled: its interval. confirmation: a loss, another flight or a doubtful ' +
            'price is checked again. retry: the last check was unknown.',
        }),
      },
      { title: 'NextCheck' },
    ),
    'The next check by this watch’s own settings and answers. It comes later if the budget is short, and sooner ' +
      'if the fare is checked for another reason. Null if the watch is not checked.',
  ),
}

const WatchViewShape = object(viewMembers)
export type WatchView = Static<typeof WatchViewShape>

/** A watch: its settings, the belief of its fare, and its next check. */
export const WatchShape = object(
  {
    ...watchMembers,
    ...viewMembers,
    pace: orNull(
      WatchPaceShape,
      'How often the fare is checked, and why. Null if the watch is not checked.',
    ),
  },
  { title: 'Watch' },
)
export type ShownWatch = Static<typeof WatchShape>

type WatchRules = Pick<ScheduleRules, 'minRecheckSeconds'>

/**
 * Returns what a watch shows of its fare. All watches of a fare share its belief, and a new watch shows it at once.
 *
 * The status and the next check depend on this watch's settings alone: they must not reveal whether the fare has other
 * watches, their intervals, or the fare's position in the schedule.
 */
export function viewOfWatch(
  watch: Pick<Watch, 'beganAt' | 'pausedAt' | 'entry'>,
  facts: WatchFacts,
  rules: WatchRules,
): WatchView {
  const { question } = watch.entry
  const hasReturn = !!question?.returnFlightId
  const unknown = publicFare(unknownView(hasReturn))
  const noPrice = { priceCheckedAt: null, priceReason: null }
  const nothing = { ...NO_CHECK, ...noPrice, ...NO_CONTRADICTION, next: null }
  // The fare may still be checked for other watches.
  if (watch.pausedAt !== null || facts.resellerDisabled) {
    const lastFlight = knownFlight(facts.outboundAtPause, facts.returnAtPause, facts)
    return { status: 'paused', belief: unknown, lastFlight, ...nothing }
  }
  if (question === null)
    return { status: 'followed', belief: unknown, lastFlight: null, ...nothing }
  if (facts.endedAt !== null) {
    const ended = endedView(hasReturn)
    // A fare that had not departed may go on for other watches, with other flights.
    const hasDeparted = facts.departsAt !== null && facts.departsAt <= facts.endedAt
    const lastFlight = hasDeparted ? lastFlightOf(ended, stateOfRow(facts), facts) : null
    return { status: 'expired', belief: publicFare(ended), lastFlight, ...nothing }
  }
  // The clock of the database was set back since the last check, so the instants of the facts say nothing.
  const isFuture = isAhead(facts.askedAt?.getTime() ?? null, facts.now.getTime())
  const known = isFuture ? { ...facts, ...NO_CHECK, state: null, askedAt: null } : facts
  const contradiction = isFuture ? NO_CONTRADICTION : contradictionOf(facts)
  const { lastGoodCheckAt, askedAt, lastReason } = known
  const state = stateOfRow(known)
  // A belief whose last good check was before this instant is stale.
  const freshSince = new Date(facts.now.getTime() - facts.freshSeconds * 1000)
  const { isPriceShown, shownPriceAt, shownPriceReason } = facts
  const price = isFuture ? noPrice : { priceCheckedAt: shownPriceAt, priceReason: shownPriceReason }
  const { belief } = state
  const view = isPriceShown ? belief : withoutPrice(belief, shownPriceReason)
  const stale = (lastGoodCheckAt ?? watch.beganAt) < freshSince
  return {
    status: stale ? 'stale' : hasBelief(view) ? 'followed' : 'new',
    belief: publicFare(stale || contradiction.hiddenReason !== null ? hiddenView(view) : view),
    lastFlight: lastFlightOf(view, state, known),
    lastGoodCheckAt,
    lastCheckAt: askedAt,
    lastCheckWhy: lastCheckWhy(watch, known),
    lastReason,
    ...price,
    ...contradiction,
    next: nextCheck(watch, known, rules),
  }
}

const NO_CHECK = { lastGoodCheckAt: null, lastCheckAt: null, lastCheckWhy: null, lastReason: null }

const NO_CONTRADICTION = { hiddenReason: null, contradictedSince: null, heldSince: null }

function contradictionOf({ hiddenReason, contradictedSince, heldSince }: WatchFacts) {
  return { hiddenReason, contradictedSince, heldSince }
}

function hasBelief({ outbound, return: back }: FareView): boolean {
  return outbound.belief !== 'unknown' || (back !== null && back.belief !== 'unknown')
}

function lastFlightOf(
  shown: FareView,
  { belief, lastFlights }: FareState,
  facts: WatchFacts,
): LastFlight | null {
  if (legsOf(shown).every(({ flight }) => flight !== null)) return null
  const outbound = belief.outbound.flight ?? lastFlights.outbound
  return knownFlight(outbound, belief.return?.flight ?? lastFlights.return, facts)
}

function knownFlight(
  outbound: FlightSummary | null,
  back: FlightSummary | null,
  { lastAmount, lastCurrency, lastBookableAt: at }: WatchFacts,
): LastFlight | null {
  if (outbound === null && back === null) return null
  const price = moneyOf(lastAmount, lastCurrency)
  return { outbound: publicFlight(outbound), return: publicFlight(back), price, at }
}

/**
 * Uses what the upstream answered and when this watch began. Other reasons would reveal other watches: a new watch, a
 * question on demand, and changes of other fares of the route are all shown as `scheduled`.
 */
function lastCheckWhy(
  { beganAt }: Pick<Watch, 'beganAt'>,
  { askedAt, startedAt, lastCheckWhy: why }: WatchFacts,
): CheckWhy | null {
  if (askedAt === null || askedAt < beganAt) return null
  if (startedAt === null || startedAt >= askedAt) return 'first_check'
  return why === 'confirmation' || why === 'retry' ? why : 'scheduled'
}

/**
 * Uses the watch's own interval only, and a lane only if it follows from a check since the watch began: an older lane
 * outlasts a pause only if the fare has other watches. The check may come later if the budget is short, and sooner if
 * another watch has a shorter interval.
 */
function nextCheck(
  { beganAt, entry }: Pick<Watch, 'beganAt' | 'entry'>,
  {
    askedAt,
    startedAt,
    lane,
    laneDueAt,
  }: Pick<WatchFacts, 'askedAt' | 'startedAt' | 'lane' | 'laneDueAt'>,
  { minRecheckSeconds }: WatchRules,
): WatchView['next'] {
  const isOlder = askedAt === null || askedAt < beganAt
  if (askedAt === null || (isOlder && startedAt === null))
    return { notBefore: beganAt, why: 'first_check' }
  const after = (seconds: number) => new Date(askedAt.getTime() + seconds * 1000)
  if (!isOlder && lane === 'confirmation' && laneDueAt !== null) {
    return { notBefore: laneDueAt, why: lane }
  }
  if (!isOlder && lane === 'retry') return { notBefore: after(RETRY_AFTER_SECONDS), why: lane }
  const seconds = Math.max(minRecheckSeconds, entry.minIntervalSeconds ?? 0)
  return { notBefore: after(seconds), why: 'scheduled' }
}
