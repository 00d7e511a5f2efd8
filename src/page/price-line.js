import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { colourOf, useDark } from './colours.js'
import { html } from './html.js'
import { serverNow } from './session.js'
import { texts } from './texts.js'
import { axisText } from './times.js'

const HEIGHT = 180
const AXIS = {
  grid: { stroke: 'rgba(128,128,128,.2)', width: 1 },
  ticks: { show: false },
}

/**
 * The prices at which a fare was bookable. Where it was not, the line has a gap.
 * @param {{ prices: readonly { validFrom: string, validTo: string | null, price: { amount: string, currency: string } | null }[] }} props newest first, as the API answers them
 */
export function PriceLine({ prices }) {
  const dark = useDark()
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null))
  useEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const colour = colourOf(element, 'accent')
    const currency = prices.find(({ price }) => price !== null)?.price?.currency ?? ''
    const stepped = uPlot.paths.stepped?.({ align: 1 })
    const plot = new uPlot(
      {
        width: element.clientWidth || 400,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false },
        scales: { x: { time: true } },
        axes: axesOf(colourOf(element, 'muted'), currency),
        series: [
          {},
          {
            stroke: colour,
            width: 2,
            fill: 'rgba(19,141,117,.12)',
            ...(stepped === undefined ? {} : { paths: stepped }),
            points: { show: false },
          },
        ],
      },
      pointsOf(prices),
      element,
    )
    const observer = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    )
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [prices, dark])
  const last = prices.find(({ price }) => price !== null)?.price
  const label = last ? texts.watch.lastPrice(last.amount, last.currency) : texts.watch.noPrice
  return html`<div class="plot" ref=${ref} role="img" aria-label=${label}></div>`
}

/** Times by the clock of the page, and prices with their unit. @param {string} stroke @param {string} currency @returns {import('uplot').Axis[]} */
function axesOf(stroke, currency) {
  return [
    {
      ...AXIS,
      stroke,
      values: (_plot, seconds, _axis, _space, step) =>
        seconds.map((s) => axisText(1000 * s, 1000 * step)),
    },
    {
      ...AXIS,
      stroke,
      size: 90,
      values: (_plot, amounts) => amounts.map((amount) => `${amount}\u00A0${currency}`),
    },
  ]
}

/** @param {readonly any[]} prices @returns {[number[], (number | null)[]]} */
function pointsOf(prices) {
  /** @type {number[]} */
  const times = []
  /** @type {(number | null)[]} */
  const values = []
  const add = (/** @type {number} */ ms, /** @type {number | null} */ value) => {
    // Two points of one instant would make a vertical line down to a gap.
    const t = Math.max(ms / 1000, (times.at(-1) ?? 0) + 0.001)
    times.push(t)
    values.push(value)
  }
  for (const { validFrom, validTo, price } of [...prices].reverse()) {
    const amount = price === null ? null : Number(price.amount)
    add(Date.parse(validFrom), amount)
    add(validTo === null ? serverNow() : Date.parse(validTo) - 1, amount)
    if (validTo !== null) add(Date.parse(validTo), null)
  }
  return [times, values]
}
