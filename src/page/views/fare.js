/**
 * @import { Change, OneOf } from '../answers.ts'
 * @import { Belief, BeliefInterval, Fare, FoundFare, NextCheck, Watch } from '../api-types.ts'
 *
 * @typedef {Omit<OneOf<Fare | Watch>, 'next'> & { next: OneOf<NextCheck | NonNullable<Fare['next']>> | null }} AnyFare
 */
import { useState } from 'preact/hooks'
import { Chart, sampled } from '../chart.js'
import { hiddenText, priceText, stateLevel, stateName, subjectOf } from '../describe.js'
import { linkTo, useAnswer } from '../hooks.js'
import { Badge, Field, Form, html, loaded } from '../parts.js'
import { callApi, serverNow } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, durationText } from '../times.js'
import { fieldOf, termsText, vocabulary } from '../vocabulary.js'
import { ChangeList, Leg } from './changes.js'

const t = texts.watch

/** Finds a tracked fare by its flight. */
export function FareSearch() {
  const [found, setFound] = useState(/** @type {readonly FoundFare[] | undefined} */ (undefined))
  const find = async (/** @type {Record<string, string>} */ { flightId = '' }) => {
    const { items } = await callApi(`/fares?flightId=${encodeURIComponent(flightId)}`)
    setFound(items)
    const [first, second] = items
    if (first && !second) location.hash = linkTo('schedule', first.fareId)
  }
  return html`<section class="panel fare"><h2>A fare</h2>
    <${Form} kind="toolbar" label="Find" send=${find}>
      <${Field} label="Flight id" name="flightId" placeholder="of an outbound flight" required />
    <//>
    ${found?.length === 0 && html`<p role="status">No tracked fare has this outbound flight.</p>`}
    <ul class="plain-list">${found?.map((fare) => html`<li><a href=${linkTo('schedule', fare.fareId)}>${texts.schedule.choice(fare)}</a>, ${termsText(fare)}</li>`)}</ul>
  </section>`
}

/** A fare of an operator. @param {{ fareId: string }} props */
export function OperatorFare({ fareId }) {
  const fare = useAnswer(`/fares/${encodeURIComponent(fareId)}`, 15_000)
  return html`<a class="back" href=${linkTo('schedule')}>‹ Schedule</a>
    ${loaded(
      fare,
      (data) => html`
    <${FarePage} fare=${data} belief=${data} timeline=${data.timeline} changes=${data.changes} title=${texts.schedule.fareTitle(data.fareId)}
      state=${html`<${Badge} level=${stateLevel(data.state)}>${stateName(data.state)}<//>`} />`,
    )}`
}

/**
 * A fare, of a watch or an operator's: its price over time, its state and next check, its records, and what was believed.
 * @param {{ fare: AnyFare, belief: Belief | Fare, timeline: readonly BeliefInterval[], changes: readonly Change[], title: string, state: unknown, children?: unknown }} props
 */
export function FarePage({ fare, belief, timeline, changes, title, state, children }) {
  const subject = subjectOf({ ...fare, belief })
  const prices = timeline.filter((interval) => interval.state === 'bookable')
  return html`<div class="fare-page">
    <div class="panel">
      <div class="row"><h2>${subject.title}</h2>${state}</div>
      <p class="muted">${title}${subject.detail && `, ${subject.detail}`}</p>
      ${belief.price && html`<p class="amount">${priceText(belief.price)}</p>`}
      ${children}
    </div>
    <div class="columns">
      <div>
        <section class="panel"><h2>Price for all passengers</h2>
          ${prices.length === 0 ? html`<p class="muted">${fare.route ? 'Your feed has a record when the route comes, goes, can be booked, or cannot any more.' : 'No price is known since the watch began.'}</p>` : html`<${PriceChart} prices=${prices} />`}</section>
        <section class="panel"><h2>Records</h2>
          ${changes.length === 0 ? html`<p class="muted">It has not changed yet.</p>` : html`<${ChangeList} changes=${changes} isNamed=${false} />`}</section>
      </div>
      <div>
        ${!fare.route && html`<section class="panel"><h2>Checks</h2><${Facts} fare=${fare} belief=${belief} /></section>`}
      </div>
    </div>
  </div>`
}

/** @param {{ fare: AnyFare, belief: Belief | Fare }} props */
function Facts({ fare, belief }) {
  const { flightId, returnFlightId, lastFlight, next, turns, pace, lastReason } = fare
  const { contradictedSince, heldSince, lastGoodCheckAt, hiddenReason } = fare
  return html`<dl>
    ${hiddenReason && html`<dt>State</dt><dd>${hiddenText(fare)}</dd>`}
    ${contradictedSince && html`<dt>Contradicted since</dt><dd><${Age} at=${contradictedSince} /></dd>`}
    ${heldSince && html`<dt>Held since</dt><dd><${Age} at=${heldSince} /> <span class="muted">What is still so ten minutes later is recorded.</span></dd>`}
    <dt>Flight</dt><dd><${Leg} leg=${belief.outbound} known=${lastFlight?.outbound} name=${flightId} /></dd>
    ${returnFlightId && html`<dt>Return</dt><dd><${Leg} leg=${belief.return} known=${lastFlight?.return} name=${returnFlightId} /></dd>`}
    ${lastFlight?.price && html`<dt>Last price</dt><dd>${priceText(lastFlight.price)}, <${Age} at=${lastFlight.at} /></dd>`}
    <dt>Passengers</dt><dd>${termsText(fare)}</dd>
    ${vocabulary.settings.map((setting) => {
      const value = fieldOf(fare, setting) ?? setting.default
      return value !== setting.default && html`<dt>${setting.label}</dt><dd>${value}</dd>`
    })}
    <dt>Last good check</dt><dd><${Age} at=${lastGoodCheckAt} none=${texts.never} />${lastReason && html` <span class="muted">${t.lastUnknown(lastReason.replaceAll('_', ' '))}</span>`}</dd>
    <dt>Next check</dt><dd>${
      next?.at
        ? html`<${Age} at=${next.at} />: ${next.why}`
        : next
          ? html`<${Age} at=${next.notBefore} /> or later: ${textOf(vocabulary.checks, next.why)}`
          : 'none'
    }</dd>
    ${turns && html`<dt>${t.pace}</dt><dd>${turns.why}</dd>`}
    ${pace?.expectedIntervalSeconds && html`<dt>${t.pace}</dt><dd>${t.paceText(durationText(pace.expectedIntervalSeconds), pace.changesPerDay.toFixed(1))}</dd>`}
  </dl>`
}

const STEPS = 240

/**
 * The prices at which a fare was bookable. Where it was not, the line has a gap.
 * @param {{ prices: readonly BeliefInterval[] }} props intervals, newest first, as the API answers them
 */
function PriceChart({ prices }) {
  const [last] = prices
  const since = Date.parse(prices.at(-1)?.validFrom ?? '')
  const until = Math.max(serverNow(), since + STEPS)
  const span = { since, until, steps: STEPS }
  const values = sampled(prices, span).map((at) => (at?.price ? Number(at.price.amount) : null))
  const { amount = '', currency = '' } = last?.price ?? {}
  const format = (/** @type {number} */ value) =>
    priceText({ amount: value.toFixed(2), currency }) ?? ''
  return html`<${Chart} kind="lines" isFitted series=${[{ name: 'price', tone: 'first', values }]}
    span=${span} format=${format} label=${texts.watch.lastPrice(amount, currency)} />`
}
