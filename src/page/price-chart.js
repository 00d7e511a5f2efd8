import { Chart } from './chart.js'
import { priceText } from './describe.js'
import { html } from './html.js'
import { serverNow } from './session.js'
import { texts } from './texts.js'

const STEPS = 240

/**
 * The prices at which a fare was bookable. Where it was not, the line has a gap.
 * @param {{ prices: readonly any[] }} props intervals, newest first, as the API answers them
 */
export function PriceChart({ prices }) {
  const [last] = prices
  const since = Date.parse(prices.at(-1).validFrom)
  const until = Math.max(serverNow(), since + STEPS)
  const values = Array.from({ length: STEPS }, (_, step) => {
    const at = since + ((until - since) * (step + 0.5)) / STEPS
    const held = prices.find(
      ({ validFrom, validTo }) =>
        Date.parse(validFrom) <= at && (validTo === null || at < Date.parse(validTo)),
    )
    return held?.price ? Number(held.price.amount) : null
  })
  const { amount = '', currency = '' } = last.price ?? {}
  const format = (/** @type {number} */ value) =>
    priceText({ amount: value.toFixed(2), currency }) ?? ''
  const span = { since, until }
  return html`<${Chart} kind="lines" isFitted series=${[{ name: texts.watch.price, tone: 'first', values }]}
    span=${span} format=${format} label=${texts.watch.lastPrice(amount, currency)} />`
}
