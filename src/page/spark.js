import { priceText, stateName } from './describe.js'
import { html } from './html.js'
import { texts } from './texts.js'
import { clockText } from './times.js'

const HEIGHT = 24

/**
 * The prices of a watch in the last days as a line of steps between its lowest and its highest price. A time in which it
 * could not be booked is a gap above a bar.
 * @param {{ intervals: readonly any[], start: number, now: number }} props
 */
export function Spark({ intervals, start, now }) {
  const x = (/** @type {string | null} */ at) =>
    at === null ? 100 : Math.min(100, Math.max(0, ((Date.parse(at) - start) / (now - start)) * 100))
  const amounts = intervals.flatMap(({ price }) => (price ? [Number(price.amount)] : []))
  const low = Math.min(...amounts)
  const span = Math.max(...amounts) - low
  const y = (/** @type {number} */ amount) =>
    span === 0 ? HEIGHT / 2 : HEIGHT - 4 - ((amount - low) / span) * (HEIGHT - 7)
  let before = false
  const path = intervals.map(({ validFrom, validTo, price }) => {
    const step = price
      ? `${before ? 'L' : 'M'}${x(validFrom)} ${y(Number(price.amount))}H${x(validTo)}`
      : ''
    before = step !== ''
    return step
  })
  const summary = intervals
    .map(
      ({ validFrom, state, price }) =>
        `${clockText(validFrom)}: ${priceText(price) ?? stateName(state)}`,
    )
    .join('; ')
  return html`<svg class="spark" viewBox="0 0 100 ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${summary || texts.lists.sparkUnknown}>
    <title>${summary}</title>
    ${intervals.map(
      ({ validFrom, validTo, state }) =>
        state === 'not_bookable' &&
        html`<rect x=${x(validFrom)} y=${HEIGHT - 3} width=${Math.max(1, x(validTo) - x(validFrom))} height="3" />`,
    )}
    <path d=${path.join('')} />
  </svg>`
}
