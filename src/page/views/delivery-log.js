/** @import { Delivery as Sent, WebhookEndpoint } from '../api-types.ts' */
import { useState } from 'preact/hooks'
import { attemptText } from '../describe.js'
import { useAnswer } from '../hooks.js'
import { Action, Badge, html, loaded, Select, Table } from '../parts.js'
import { callApi, mayChange } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock, durationText } from '../times.js'
import { vocabulary } from '../vocabulary.js'

const t = texts.deliveries

const SHOWN = 100

/** @type {Record<string, import('../parts.js').Level>} */
const LEVELS = { pending: 'warn', delivered: 'good', dead: 'bad' }

/**
 * What was sent to an endpoint last, or what is not tried any more.
 * @param {{ endpoint: WebhookEndpoint }} props
 */
export function EndpointLog({ endpoint }) {
  const [shown, setShown] = useState('recent')
  const ofState = shown === 'dead' ? '&state=dead' : ''
  const log = useAnswer(`/deliveries?endpoint=${endpoint.id}${ofState}&limit=${SHOWN}`, 10_000)
  return html`<section class="panel" aria-label=${t.title}>
    <div class="row"><h2>${t.title}</h2>
      <${Select} label="Show" value=${shown} onChoose=${setShown} options=${Object.entries(t.shown)} /></div>
    ${loaded(
      log,
      ({ items }) => html`
      ${items.length === 0 && html`<p class="muted">${shown === 'recent' ? 'Nothing was sent in the last 30 days.' : 'Everything arrived.'}</p>`}
      <${Deliveries} deliveries=${items} named="record" isOwn=${true} />
    `,
    )}
  </section>`
}

/**
 * Deliveries with their states and last attempts. Those of the reader can be opened, and sent again if they are not
 * tried any more.
 * @param {{ deliveries: readonly Sent[], named: 'record' | 'endpoint', isOwn: boolean }} props
 */
export function Deliveries({ deliveries, named, isOwn }) {
  if (deliveries.length === 0) return null
  return html`<${Table} kind="stacked deliveries" heads=${[...Object.values(t.columns), '']}>${deliveries.map(
    (delivery) =>
      html`<${Delivery} key=${delivery.id} delivery=${delivery} named=${named} isOwn=${isOwn} />`,
  )}<//>`
}

/** What a delivery is about. @param {Sent} delivery @param {'record' | 'endpoint'} named @param {boolean} isOwn */
function subjectOf({ seq, type, kind, reference, format, target, reseller }, named, isOwn) {
  if (named === 'endpoint') return `${isOwn ? '' : `${reseller}, `}${format}: ${target}`
  if (seq === null) return textOf(t.events, type)
  return t.record(seq, textOf(vocabulary.kinds, kind), reference ?? '')
}

/** @param {{ delivery: Sent, named: 'record' | 'endpoint', isOwn: boolean }} props */
function Delivery({ delivery, named, isOwn }) {
  const { id, state, deadReason, lastAttempt } = delivery
  const [isOpen, setOpen] = useState(false)
  const subject = subjectOf(delivery, named, isOwn)
  /** @type {`/deliveries/${string}`} */
  const path = `/deliveries/${id}`
  const again = () => callApi(`${path}/retry`, { method: 'POST' })
  return html`<tr>
      <td class="main">${subject}</td>
      <td><${Badge} level=${LEVELS[state] ?? 'idle'}>${textOf(t, state)}${deadReason && ` (${textOf(t.deadReasons, deadReason)})`}<//></td>
      <td class="muted">${when(delivery)}</td>
      <td class="muted">${lastAttempt && attemptText(lastAttempt)}</td>
      <td>${isOwn && html`<button type="button" class="plain" aria-expanded=${isOpen} aria-label=${t.detailsOf(subject)} onClick=${() => setOpen(!isOpen)}>Details</button>`}
      ${state === 'dead' && mayChange() && html`<${Action} kind="plain" label="Send again" name=${t.againFor(subject)} run=${again} />`}</td>
    </tr>
    ${isOpen && html`<tr><td colspan="5"><${Details} path=${path} /></td></tr>`}`
}

/** @param {Sent} delivery */
function when({ state, dueAt, endedAt, recordedAt }) {
  if (state === 'pending' && dueAt)
    return html`next attempt <${Age} at=${dueAt} past=${texts.time.now} />`
  return html`<${Clock} at=${endedAt ?? recordedAt} />`
}

/** What is sent, and how the receiver answered each time. @param {{ path: `/deliveries/${string}` }} props */
function Details({ path }) {
  const found = useAnswer(path)
  return html`<div class="details">${loaded(
    found,
    ({ body, attempts }) => html`
    <h3>Attempts</h3>
    ${attempts.length === 0 && html`<p class="muted">No attempt was made in the last 30 days.</p>`}
    <ul class="plain-list">${attempts.map(
      ({ startedAt, outcome, status, durationMs, answer }) => html`<li>
        <${Badge} level=${outcome === 'ok' ? 'good' : 'bad'}><${Clock} at=${startedAt} />: ${attemptText({ outcome, status })}, after ${lengthText(durationMs)}<//>
        ${answer && html`<pre tabindex="0">${answer}</pre>`}</li>`,
    )}</ul>
    <h3>What is sent</h3>
    ${body === null ? html`<p class="muted">The record is archived.</p>` : html`<pre tabindex="0">${JSON.stringify(body, null, 2)}</pre>`}
  `,
  )}</div>`
}

/** @param {number} ms */
function lengthText(ms) {
  return ms < 10_000 ? `${ms}\u00A0ms` : durationText(ms / 1000)
}
