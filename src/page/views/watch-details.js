import { useState } from 'preact/hooks'
import { hiddenText, priceText, stateName, subjectOf } from '../describe.js'
import { linkTo, linkWithin, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Leg, Timeline } from '../offer.js'
import { Action, Failure, Loaded } from '../parts.js'
import { PriceLine } from '../price-line.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText } from '../times.js'
import { termsText, vocabulary } from '../vocabulary.js'
import { WatchForm } from './watch-form.js'

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
    <div class="row"><h2>${reference}</h2><a class="close" href=${linkWithin('watches', list)}>${texts.close}</a></div>
    <${Loaded} of=${found}>${(/** @type {any} */ { watch, prices, timeline }) => html`
      ${watch.route ? html`<p>${subjectOf(watch).title}</p><p class="help">${texts.watch.routeHelp}</p>` : html`<${Fare} watch=${watch} prices=${prices} timeline=${timeline} />`}
      ${canWatch && html`<${Buttons} list=${list} watch=${watch} onChanged=${changed} />`}
    `}<//>
  </aside>`
}

/** @param {{ watch: any, prices: any[], timeline: any[] }} props */
function Fare({ watch, prices, timeline }) {
  return html`
    <${Facts} watch=${watch} />
    <h3>${texts.watch.prices}</h3>
    ${
      prices.length === 0
        ? html`<p class="muted">${texts.watch.noPrice}</p>`
        : html`<${PriceLine} prices=${prices} />`
    }
    <h3>${texts.watch.beliefs}</h3>
    <${Timeline} timeline=${timeline} />
  `
}

/** @param {{ watch: any }} props */
function Facts({ watch }) {
  const { belief, lastFlight, status, hiddenReason, contradictedSince, heldSince } = watch
  const { lastGoodCheckAt, next, lastReason } = watch
  return html`<dl>
    <dt>${texts.watch.state}</dt><dd>${textOf(vocabulary.statuses, status)}: ${stateName(belief.state)}${belief.price ? `, ${priceText(belief.price)}` : ''}${hiddenReason && html` <span class="muted">${hiddenText(watch)}</span>`}</dd>
    ${contradictedSince && html`<dt>${texts.watch.contradicted}</dt><dd><${Age} at=${contradictedSince} /></dd>`}
    ${heldSince && html`<dt>${texts.watch.held}</dt><dd><${Age} at=${heldSince} /> <span class="muted">${texts.watch.heldHelp}</span></dd>`}
    <dt>${texts.watch.flight}</dt><dd><${Leg} leg=${belief.outbound} known=${lastFlight?.outbound} name=${watch.flightId} /></dd>
    ${watch.returnFlightId && html`<dt>${texts.watch.return}</dt><dd><${Leg} leg=${belief.return} known=${lastFlight?.return} name=${watch.returnFlightId} /></dd>`}
    ${lastFlight?.price && html`<dt>${texts.watch.lastSeen}</dt><dd>${priceText(lastFlight.price)}, <${Age} at=${lastFlight.at} /></dd>`}
    <dt>${texts.watch.passengers}</dt><dd>${termsText(watch)}</dd>
    <dt>${texts.watch.lastGood}</dt><dd><${Age} at=${lastGoodCheckAt} none=${texts.never} />${lastReason && html` <span class="muted">${texts.watch.lastUnknown(lastReason.replaceAll('_', ' '))}</span>`}</dd>
    <dt>${texts.watch.next}</dt><dd>${next ? html`<${Age} at=${next.notBefore} /> ${texts.watch.orLater} ${textOf(vocabulary.checks, next.why)}` : texts.watch.noNext}</dd>
    ${watch.pace?.expectedIntervalSeconds && html`<dt>${texts.watch.pace}</dt><dd>${texts.watch.paceText(durationText(watch.pace.expectedIntervalSeconds), watch.pace.changesPerDay.toFixed(1))}</dd>`}
  </dl>`
}

/** @param {{ list: string, watch: any, onChanged: () => void }} props */
function Buttons({ list, watch, onChanged }) {
  const { busy, error, run } = useAction()
  const [editing, setEditing] = useState(false)
  const base = `/watch-lists/${encodeURIComponent(list)}`
  const verb = watch.pausedAt === null && watch.status !== 'expired' ? 'pause' : 'resume'
  const toggle = async () => {
    await callApi(`${base}/${verb}`, { method: 'POST', body: { references: [watch.reference] } })
    onChanged()
  }
  const remove = async () => {
    await callApi(`${base}/watches/${encodeURIComponent(watch.reference)}`, { method: 'DELETE' })
    location.hash = linkTo('watches', list)
    onChanged()
  }
  if (editing) {
    return html`<${WatchForm} list=${list} watch=${watch} onEnd=${(
      /** @type {boolean} */ saved,
    ) => {
      setEditing(false)
      if (saved) onChanged()
    }} />`
  }
  return html`<div class="buttons">
    <button type="button" onClick=${() => setEditing(true)}>${texts.watch.edit}</button>
    <${Action} label=${verb === 'pause' ? texts.watch.pause : texts.watch.resume} busy=${busy} onClick=${() => run(toggle)} />
    <${Action} label=${texts.watch.remove} kind="danger" busy=${busy}
      onClick=${() => confirm(texts.watch.askRemove(watch.reference, list)) && run(remove)} />
    ${error && html`<${Failure} error=${error} />`}
  </div>`
}
