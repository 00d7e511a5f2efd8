import { useState } from 'preact/hooks'
import {
  changeLevel,
  changeText,
  hiddenText,
  priceText,
  stateName,
  subjectOf,
} from '../describe.js'
import { linkTo, onSubmit, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Leg, Timeline } from '../offer.js'
import { Action, Badge, Empty, Failure, Loaded } from '../parts.js'
import { readLast } from '../recent-changes.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Age, Clock } from '../times.js'
import { termsText } from '../vocabulary.js'

const EVERY_MS = 15_000
/** How many changes are read for the fares that changed last, and how many fares are shown. */
const RECENT = 50
const SHOWN_RECENT = 10

/** Finds a tracked fare by its flight, and shows it. @param {{ fareId: string | undefined }} props */
export function FareSearch({ fareId }) {
  const [flightId, setFlightId] = useState('')
  const [found, setFound] = useState(/** @type {any[] | undefined} */ (undefined))
  const { busy, error, run } = useAction()
  const find = async () => {
    const { items } = await callApi(`/fares?flightId=${encodeURIComponent(flightId.trim())}`)
    setFound(items)
    if (items.length === 1) location.hash = linkTo('schedule', String(items[0].fareId))
  }
  const submit = onSubmit(() => flightId.trim() !== '' && run(find))
  return html`<section class="panel fare"><h2>${texts.schedule.fare}</h2>
    <form class="toolbar" onSubmit=${submit}>
      <label>${texts.schedule.flightId} <input value=${flightId} placeholder=${texts.schedule.findHint}
        onInput=${(/** @type {any} */ e) => setFlightId(e.currentTarget.value)} /></label>
      <${Action} label=${texts.schedule.find} busy=${busy} disabled=${flightId.trim() === ''} onClick=${() => run(find)} />
    </form>
    ${error && html`<${Failure} error=${error} />`}
    ${found !== undefined && found.length !== 1 && html`<${Choices} found=${found} />`}
    ${fareId === undefined ? html`<${RecentFares} />` : html`<${Fare} key=${fareId} fareId=${fareId} />`}
  </section>`
}

/** The fares of the last changes, for a reader who knows no flight id. */
function RecentFares() {
  const recent = useResource(
    async () => newestByFare(await readLast('/availability-changes', RECENT)),
    [],
  )
  return html`<${Loaded} of=${recent}>${(/** @type {any[]} */ changes) =>
    changes.length > 0 &&
    html`<h3>${texts.schedule.recent}</h3><ul class="plain-list recent">${changes.map((change) => {
      const { title, detail } = subjectOf(change)
      return html`<li><a href=${linkTo('schedule', String(change.fareId))}>${title}</a> <span class="muted">${detail}</span>
        <${Badge} level=${changeLevel(change)}>${changeText(change)}<//></li>`
    })}</ul>`}<//>`
}

/** @param {any[]} changes oldest first */
function newestByFare(changes) {
  const byFare = new Map(changes.map((change) => [change.fareId, change]))
  return [...byFare.values()].sort((a, b) => b.seq - a.seq).slice(0, SHOWN_RECENT)
}

/** @param {{ found: any[] }} props */
function Choices({ found }) {
  if (found.length === 0) {
    return html`<${Empty} title=${texts.schedule.notFound}>${texts.schedule.notFoundHelp}<//>`
  }
  return html`<p>${texts.schedule.found}</p><ul class="plain-list">${found.map(
    (fare) =>
      html`<li><a href=${linkTo('schedule', String(fare.fareId))}>${texts.schedule.choice(fare)}</a>, ${termsText(fare)}</li>`,
  )}</ul>`
}

/** @param {{ fareId: string }} props */
function Fare({ fareId }) {
  const fare = useResource(
    (signal) => callApi(`/fares/${encodeURIComponent(fareId)}`, { signal }),
    [fareId],
    { everyMs: EVERY_MS },
  )
  return html`<${Loaded} of=${fare}>${(/** @type {any} */ data) => html`
    <h3>${texts.schedule.fareTitle(data.fareId)}</h3>
    <${Facts} fare=${data} />
    <div class="sides">
      <section><h3>${texts.schedule.beliefs}</h3>${
        data.timeline.length === 0
          ? html`<p class="muted">${texts.schedule.noBeliefs}</p>`
          : html`<${Timeline} timeline=${data.timeline} />`
      }</section>
      <section><h3>${texts.schedule.records}</h3><${Changes} changes=${data.changes} /></section>
    </div>
  `}<//>`
}

/** @param {{ fare: any }} props */
function Facts({ fare }) {
  const { state, price, flightId, returnFlightId, next, turns } = fare
  const { lastGoodCheckAt, lastReason } = fare
  return html`<dl>
    <dt>${texts.schedule.state}</dt><dd>${stateName(state)}${price === null ? '' : `, ${priceText(price)}`}${fare.hiddenReason && html` <span class="muted">${hiddenText(fare)}</span>`}</dd>
    <dt>${texts.schedule.flight}</dt><dd><${Leg} leg=${fare.outbound} name=${flightId} /></dd>
    ${returnFlightId !== null && html`<dt>${texts.schedule.return}</dt><dd><${Leg} leg=${fare.return} name=${returnFlightId} /></dd>`}
    <dt>${texts.watch.passengers}</dt><dd>${termsText(fare)}</dd>
    <dt>${texts.schedule.lastGood}</dt><dd><${Age} at=${lastGoodCheckAt} none=${texts.never} />${lastReason && html` <span class="muted">${texts.schedule.lastUnknown(lastReason.replaceAll('_', ' '))}</span>`}</dd>
    <dt>${texts.schedule.next}</dt><dd>${next ? html`<${Age} at=${next.at} />: ${next.why}` : texts.schedule.noNext}</dd>
    ${turns && html`<dt>${texts.schedule.pace}</dt><dd>${turns.why}</dd>`}
  </dl>`
}

/** @param {{ changes: any[] }} props */
function Changes({ changes }) {
  if (changes.length === 0) return html`<p class="muted">${texts.schedule.noRecords}</p>`
  return html`<ul class="plain-list">${changes.map(
    (change) =>
      html`<li><${Badge} level=${changeLevel(change)}>${changeText(change)}<//> <span class="muted"><${Clock} at=${change.recordedAt} /></span></li>`,
  )}</ul>`
}
