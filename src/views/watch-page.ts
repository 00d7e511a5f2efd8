import type { Flight } from '../feeds/change-shapes.ts'
import { VOCABULARY } from '../platform/base/vocabulary.ts'
import { escaped } from '../platform/http/docs-html.ts'
import type { WatchInterval } from './watch-history-operations.ts'
import type { ShownWatch } from './watch-view-shapes.ts'

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 44rem; margin: 2rem auto; padding: 0 1rem }
svg { width: 100%; height: auto }
.bookable { fill: #2e9e6b } .not_bookable { fill: #c4473a } .unknown { fill: #9aa5a6 }
polyline { fill: none; stroke: currentColor; stroke-width: 2 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid #8884 }
`

const labelOf = (state: WatchInterval['state']) => VOCABULARY.states[state].label

/**
 * The page of one watch for people without a key: its flights, what is believed, and what was believed, as a picture and a
 * table. It shows no name of the reseller's, no reference and no setting.
 * @param intervals newest first.
 */
export function watchPage(
  { belief, lastFlight, status }: ShownWatch,
  intervals: readonly WatchInterval[],
  now: Date,
): string {
  const out = belief.outbound.flight ?? lastFlight?.outbound ?? null
  const back = belief.return?.flight ?? lastFlight?.return ?? null
  const flights = [out, back].filter((flight) => flight !== null).map(flightText)
  const title = escaped(flights.join(', back ') || 'A flight')
  const state = status === 'expired' ? VOCABULARY.statuses.expired : labelOf(belief.state)
  const price = belief.price === null ? '' : `, ${belief.price.amount} ${belief.price.currency}`
  const rows = intervals.map(
    (one) =>
      `<tr><td>${timeText(one.validFrom)}<td>${labelOf(one.state)}<td>${one.price === null ? '' : escaped(`${one.price.amount} ${one.price.currency}`)}`,
  )
  return pageOf(
    title,
    `<p>Now: <b>${escaped(`${state}${price}`)}</b>, as of ${timeText(now)} UTC.</p>
${picture(intervals, now)}
<table><thead><tr><th>Since, UTC<th>State<th>Price</thead><tbody>
${rows.join('\n')}
</tbody></table>`,
  )
}

/** The page in place of one that a link does not show: whether the link ever did is not said. */
export function endedPage(): string {
  const text =
    'Links to a watch expire, and can be revoked. Ask for another one where you got this.'
  return pageOf('This link shows nothing any more', `<p>${text}</p>`)
}

function pageOf(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
<main>
<h1>${title}</h1>
${content}
</main>
</html>
`
}

function flightText({ departure, arrival, airline, numbers }: Flight): string {
  const from = departure.place.city ?? departure.place.iata
  const to = arrival.place.city ?? arrival.place.iata
  return `${from} → ${to}, ${departure.localTime}, ${airline.name} ${numbers.join('/')}`
}

const timeText = (at: Date | string) => new Date(at).toISOString().slice(0, 16).replace('T', ' ')

const WIDTH = 600
const HEIGHT = 120
const STRIP = 16

/** The states as a strip, and above it the price as steps; empty if nothing was believed. */
function picture(intervals: readonly WatchInterval[], now: Date): string {
  const oldest = intervals.at(-1)
  if (oldest === undefined) return ''
  const startMs = new Date(oldest.validFrom).getTime()
  const spanMs = Math.max(1, now.getTime() - startMs)
  const x = (at: Date | null) =>
    (((at === null ? now : new Date(at)).getTime() - startMs) / spanMs) * WIDTH
  const strip = intervals.map(({ state, validFrom, validTo }) => {
    const [from, to] = [x(validFrom), x(validTo)]
    return `<rect class="${state}" x="${from.toFixed(1)}" y="${HEIGHT - STRIP}" width="${Math.max(1, to - from).toFixed(1)}" height="${STRIP}"/>`
  })
  const priced = intervals.filter(({ price }) => price !== null).toReversed()
  const amounts = priced.map(({ price }) => Number(price?.amount))
  const [low, high] = [Math.min(...amounts), Math.max(...amounts)]
  const y = (amount: number) =>
    8 + (high === low ? 0.5 : (high - amount) / (high - low)) * (HEIGHT - STRIP - 24)
  const steps = priced.map(({ validFrom, validTo }, i) => {
    const at = y(amounts[i] ?? 0).toFixed(1)
    return `<polyline points="${x(validFrom).toFixed(1)},${at} ${x(validTo).toFixed(1)},${at}"/>`
  })
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="States and prices over time">${strip.join('')}${steps.join('')}</svg>`
}
