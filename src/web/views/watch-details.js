import { useState } from 'preact/hooks'
import { flightText, pairText, priceText } from '../describe.js'
import { linkTo, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Failure, Loaded } from '../parts.js'
import { PriceLine } from '../price-line.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Age, Clock } from '../times.js'

/**
 * One watch: its belief, its next check, its prices and what was believed before.
 * @param {{ list: string, reference: string, canWatch: boolean, onChanged: () => void }} props
 */
export function WatchDetails({ list, reference, canWatch, onChanged }) {
  const path = `/watch-lists/${encodeURIComponent(list)}/watches/${encodeURIComponent(reference)}`
  const found = useResource(
    async (signal) => {
      const [watch, prices, timeline] = await Promise.all([
        callApi(path, { signal }),
        callApi(`${path}/prices?limit=500`, { signal }),
        callApi(`${path}/timeline?limit=20`, { signal }),
      ])
      return { watch, prices: prices.items, timeline: timeline.items }
    },
    [path],
    { everyMs: 15_000 },
  )
  const changed = () => {
    found.reload()
    onChanged()
  }
  return html`<aside class="drawer" aria-label=${reference}>
    <div class="row"><h2>${reference}</h2><a class="close" href=${linkTo('watches', list)}>${texts.close}</a></div>
    <${Loaded} of=${found}>${(/** @type {any} */ { watch, prices, timeline }) => html`
      <${Facts} watch=${watch} />
      <h3>Price for all passengers</h3>
      ${
        prices.length === 0
          ? html`<p class="muted">No price was believed since the watch began.</p>`
          : html`<${PriceLine} prices=${prices} beganAt=${watch.beganAt} />`
      }
      <h3>What was believed</h3>
      <ul class="plain-list">${timeline.map(
        (/** @type {any} */ { from, to, pair, price, currency }) => html`<li>
          ${from ? html`<${Clock} at=${from} />` : 'from the start'} – ${to ? html`<${Clock} at=${to} />` : 'now'}:
          ${' '}${pairText(pair)}${price ? `, ${price} ${currency}` : ''}</li>`,
      )}</ul>
      ${canWatch && html`<${Buttons} list=${list} watch=${watch} onChanged=${changed} />`}
    `}<//>
  </aside>`
}

/** @param {{ watch: any }} props */
function Facts({ watch }) {
  const { belief, status, lastGoodCheckAt, next, lastReason, passengers } = watch
  const { residents, nonResidents } = passengers
  const people = (/** @type {any} */ { adults, children, infants }) => adults + children + infants
  return html`<dl>
    <dt>State</dt><dd>${texts.statuses[/** @type {keyof typeof texts.statuses} */ (status)]}: ${pairText(belief.pair)}${belief.price ? `, ${priceText(belief.price)}` : ''}</dd>
    <dt>Flight</dt><dd>${flightText(belief.outbound.flight) ?? watch.flightId}</dd>
    ${watch.returnFlightId && html`<dt>Return</dt><dd>${flightText(belief.return?.flight) ?? watch.returnFlightId}</dd>`}
    <dt>Passengers</dt><dd>${people(residents) + people(nonResidents)}${people(residents) > 0 ? `, ${people(residents)} of them residents` : ''}</dd>
    <dt>Last good check</dt><dd><${Age} at=${lastGoodCheckAt} none="never" />${lastReason && html` <span class="muted">(the last one was unknown: ${lastReason})</span>`}</dd>
    <dt>Next check</dt><dd>${next ? html`<${Age} at=${next.notBefore} /> or later: ${texts.whys[/** @type {keyof typeof texts.whys} */ (next.why)]}` : 'none'}</dd>
  </dl>`
}

/** @param {{ list: string, watch: any, onChanged: () => void }} props */
function Buttons({ list, watch, onChanged }) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined))
  const run = (/** @type {() => Promise<unknown>} */ action) => {
    setBusy(true)
    setError(undefined)
    action()
      .then(onChanged, setError)
      .finally(() => setBusy(false))
  }
  const base = `/watch-lists/${encodeURIComponent(list)}`
  const verb = watch.pausedAt === null ? 'pause' : 'resume'
  const body = { references: [watch.reference] }
  const remove = async () => {
    if (!confirm(`Delete ${watch.reference} from ${list}?`)) return
    await callApi(`${base}/watches/${encodeURIComponent(watch.reference)}`, { method: 'DELETE' })
    location.hash = linkTo('watches', list)
  }
  return html`<div class="buttons">
    <${Action} label=${verb === 'pause' ? 'Pause' : 'Resume'} busy=${busy} onClick=${() => run(() => callApi(`${base}/${verb}`, { method: 'POST', body }))} />
    <${Action} label="Delete" kind="danger" busy=${busy} onClick=${() => run(remove)} />
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}
