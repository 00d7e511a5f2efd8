import { LIES, type Lie } from './lies.ts'
import { DATES, type Fare, type Flight, type Market, type Phase } from './market.ts'

/** A time of lies, or of many true changes at once. */
export interface Period {
  readonly name: string
  readonly fromMs: number
  readonly toMs: number
  readonly lies: readonly Lie[]
}

type Times = Pick<Period, 'fromMs' | 'toMs'>

/** What a period is made of. */
interface Act extends Pick<Period, 'name' | 'lies'> {
  readonly seconds: number
  /** Changes what is true of flights. */
  readonly apply?: (market: Market, times: Times) => void
}

const mass = (name: string, seconds: number, apply: Act['apply']): Act => {
  return { name, seconds, lies: [], ...(apply && { apply }) }
}

const SALE = mass('true: an airline of 120 sells a fifth cheaper', 600, (market, { fromMs }) =>
  change(flightsOf(market, 120), fromMs, (phase) => {
    return { ...phase, cents: Math.round(0.8 * phase.cents) }
  }),
)
const RETIMED = mass('true: one flight on 40 dates departs later', 600, (market, { fromMs }) =>
  change((market.airlines[0] ?? []).slice(0, DATES), fromMs, (phase) => {
    return { ...phase, minutes: phase.minutes + 25 }
  }),
)
const STRIKE = mass('true: an airline of 60 sells out for 40 min', 2_400, sellOut)

const ACTS: readonly Act[] = [
  ...LIES.slice(0, 4),
  RETIMED,
  ...LIES.slice(4, 9),
  SALE,
  ...LIES.slice(9, 15),
  STRIKE,
  ...LIES.slice(15),
]

/** Changes the phase that lasts at an instant from then on, and all later ones. */
function change(flights: readonly Flight[], atMs: number, to: (phase: Phase) => Phase): void {
  for (const { phases } of flights) {
    const last = phases.findLast(({ fromMs }) => fromMs <= atMs)
    const later = phases.filter(({ fromMs }) => fromMs > atMs).map(to)
    if (last === undefined) continue
    phases.splice(phases.indexOf(last) + 1, phases.length, { ...to(last), fromMs: atMs }, ...later)
  }
}

function flightsOf({ airlines }: Market, size: number): readonly Flight[] {
  return airlines.find(([flight]) => flight?.airline.size === size) ?? []
}

function sellOut(market: Market, { fromMs: lostMs, toMs: backMs }: Times): void {
  for (const { phases } of flightsOf(market, 60)) {
    const before = phases.filter(({ fromMs }) => fromMs < lostMs)
    const later = phases.filter(({ fromMs }) => fromMs > backMs)
    const last = before.at(-1)
    if (last === undefined) continue
    const lost = { ...last, fromMs: lostMs, isForSale: false }
    phases.splice(0, phases.length, ...before, lost, { ...last, fromMs: backMs }, ...later)
  }
}

/** Between two periods, so that holds end and the records of one do not count for the next. */
const CALM_SECONDS = 600
/** If the time suffices for fewer, the last periods are left out. */
const LEAST_CALM_SECONDS = 300

/**
 * Spreads the periods over the time between two instants, as often as it suffices for, with equal calm after each.
 * Changes what is true in them.
 * @param only a pattern: periods with other names are left out.
 */
export function planPeriods(
  market: Market,
  { fromMs, toMs, only = '' }: Times & { readonly only?: string | undefined },
): Period[] {
  const acts = ACTS.filter(({ name }) => new RegExp(only).test(name))
  const seconds = (toMs - fromMs) / 1_000
  const lengthOf = (some: readonly Act[], calm: number) =>
    some.reduce((sum, act) => sum + act.seconds + calm, 0)
  const all = acts.filter((_, i) => lengthOf(acts.slice(0, i + 1), LEAST_CALM_SECONDS) <= seconds)
  if (all.length === 0) return []
  const rounds = Math.max(1, Math.floor(seconds / lengthOf(all, CALM_SECONDS)))
  const calm = Math.floor((seconds / rounds - lengthOf(all, 0)) / all.length)
  let atMs = fromMs
  return Array.from({ length: rounds }, () => all)
    .flat()
    .map(({ name, lies, apply, ...act }) => {
      const period = { name, lies, fromMs: atMs, toMs: atMs + 1_000 * act.seconds }
      atMs = period.toMs + 1_000 * calm
      apply?.(market, period)
      return period
    })
}

export const CALM = 'calm'
/** What a period causes comes at most so long after its end. */
const AFTER_MS = 15 * 60_000

/** What was wrong about a fare at an instant, or shortly before. */
export function causeOf(periods: readonly Period[], fare: Fare, atMs: number): string {
  const period = periods.findLast(({ fromMs }) => fromMs <= atMs)
  if (period === undefined || atMs > period.toMs + AFTER_MS) return CALM
  const { name, lies } = period
  return (
    lies.find(({ isAbout }) => isAbout(fare))?.name ?? (lies.length > 0 ? `others: ${name}` : name)
  )
}

/** The lie about a fare at an instant. */
export function lieAbout(
  periods: readonly Period[],
  fare: Fare,
  atMs: number,
): { readonly lie: Lie; readonly sinceMs: number } | undefined {
  const period = periods.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs)
  const lie = period?.lies.find(({ isAbout }) => isAbout(fare))
  return period && lie && { lie, sinceMs: period.fromMs }
}
