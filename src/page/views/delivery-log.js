/** @import { Delivery as Sent, WebhookEndpoint } from '../api-types.ts' */
import { useState } from 'preact/hooks'
import { attemptText } from '../describe.js'
import { useAnswer } from '../hooks.js'
import { Action, Badge, html, loaded, Select } from '../parts.js'
import { callApi } from '../session.js'
import { textOf, texts } from '../texts.js'
import { Age, Clock, durationText } from '../times.js'
import { vocabulary } from '../vocabulary.js'

const t = texts.deliveries

const SHOWN = 100

/** @type {Record<string, import('../parts.js').Level>} */
const LEVELS = { pending: 'warn', delivered: 'good', dead: 'bad' }

/**
 * What was sent to an endpoint last, or what is not tried any more.
 * @param {{ endpoint: WebhookEndpoint, canWatch: boolean, onChanged: () => void }} props
 */
export function EndpointLog({ endpoint, canWatch, onChanged }) {
  const [shown, setShown] = useState('recent')
  const ofState = shown === 'dead' ? '&state=dead' : ''
  const log = useAnswer(`/deliveries?endpoint=${endpoint.id}${ofState}&limit=${SHOWN}`, 10_000)
  const changed = () => {
    log.reload()
    onChanged()
  }
  return html`<section class="panel" aria-label=${t.title}>
    <div class="row"><h2>${t.title}</h2>
      <${Select} label=${t.show} value=${shown} onChoose=${setShown} options=${Object.entries(t.shown)} /></div>
    ${loaded(
      log,
      ({ items }) => html`
      ${items.length === 0 && html`<p class="muted">${shown === 'recent' ? t.empty : t.noDead}</p>`}
      <${Deliveries} deliveries=${items} named="record" isOwn=${true} canWatch=${canWatch} onChanged=${changed} />
    `,
    )}
  </section>`
}

/**
 * Deliveries with their states and last attempts. Those of the reader can be opened, and sent again if they are not
 * tried any more.
 * @param {{ deliveries: readonly Sent[], named: 'record' | 'endpoint', isOwn: boolean, canWatch: boolean, onChanged: () => void }} props
 */
export function Deliveries({ deliveries, named, isOwn, canWatch, onChanged }) {
  if (deliveries.length === 0) return null
  return html`<table class="stacked deliveries">
    <thead><tr>${Object.values(t.columns).map((text) => html`<th>${text}</th>`)}<th></th></tr></thead>
    <tbody>${deliveries.map(
      (delivery) =>
        html`<${Delivery} key=${delivery.id} delivery=${delivery} named=${named} isOwn=${isOwn} canWatch=${canWatch} onChanged=${onChanged} />`,
    )}</tbody></table>`
}

/** What a delivery is about. @param {Sent} delivery @param {'record' | 'endpoint'} named @param {boolean} isOwn */
function subjectOf({ seq, type, kind, reference, format, target, reseller }, named, isOwn) {
  if (named === 'endpoint') return `${isOwn ? '' : `${reseller}, `}${format}: ${target}`
  if (seq === null) return textOf(t.events, type)
  return t.record(seq, textOf(vocabulary.kinds, kind), reference ?? '')
}

/** @param {{ delivery: Sent, named: 'record' | 'endpoint', isOwn: boolean, canWatch: boolean, onChanged: () => void }} props */
function Delivery({ delivery, named, isOwn, canWatch, onChanged }) {
  const { id, state, deadReason, lastAttempt } = delivery
  const [isOpen, setOpen] = useState(false)
  const subject = subjectOf(delivery, named, isOwn)
  /** @type {`/deliveries/${string}`} */
  const path = `/deliveries/${id}`
  const again = () => callApi(`${path}/retry`, { method: 'POST' }).then(onChanged)
  return html`<tr>
      <td class="main">${subject}</td>
      <td><${Badge} level=${LEVELS[state] ?? 'idle'}>${textOf(t, state)}${deadReason && ` (${textOf(t.deadReasons, deadReason)})`}<//></td>
      <td class="muted">${when(delivery)}</td>
      <td class="muted">${lastAttempt && attemptText(lastAttempt)}</td>
      <td>${isOwn && html`<button type="button" class="plain" aria-expanded=${isOpen} aria-label=${t.detailsOf(subject)} onClick=${() => setOpen(!isOpen)}>${t.details}</button>`}
      ${state === 'dead' && canWatch && html`<${Action} kind="plain" label=${t.again} name=${t.againFor(subject)} run=${again} />`}</td>
    </tr>
    ${isOpen && html`<tr><td colspan="5"><${Details} path=${path} /></td></tr>`}`
}

/** @param {Sent} delivery */
function when({ state, dueAt, endedAt, recordedAt }) {
  if (state === 'pending' && dueAt)
    return html`${t.next} <${Age} at=${dueAt} past=${texts.time.now} />`
  return html`<${Clock} at=${endedAt ?? recordedAt} />`
}

/** What is sent, and how the receiver answered each time. @param {{ path: `/deliveries/${string}` }} props */
function Details({ path }) {
  const found = useAnswer(path)
  return html`<div class="details">${loaded(
    found,
    ({ body, attempts }) => html`
    <h3>${t.attempts}</h3>
    ${attempts.length === 0 && html`<p class="muted">${t.noAttempts}</p>`}
    <ul class="plain-list">${attempts.map(
      ({ startedAt, outcome, status, durationMs, answer }) => html`<li>
        <${Badge} level=${outcome === 'ok' ? 'good' : 'bad'}><${Clock} at=${startedAt} />: ${attemptText({ outcome, status })}, ${t.after} ${lengthText(durationMs)}<//>
        ${answer && html`<pre tabindex="0">${answer}</pre>`}</li>`,
    )}</ul>
    <h3>${t.body}</h3>
    ${body === null ? html`<p class="muted">${t.noBody}</p>` : html`<pre tabindex="0">${JSON.stringify(body, null, 2)}</pre>`}
  `,
  )}</div>`
}

/** @param {number} ms */
function lengthText(ms) {
  return ms < 10_000 ? `${ms}\u00A0ms` : durationText(ms / 1000)
}
