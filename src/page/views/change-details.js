import { feedOf, priceText, routeText, stateName } from '../describe.js'
import { linkTo, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Leg } from '../offer.js'
import { Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Clock } from '../times.js'
import { Deliveries } from './delivery-log.js'

/** Where the records of a feed have their evidence and deliveries. */
const PATHS = { fare: '/availability-changes', watch: '/watch-changes' }

/**
 * A record: when it happened, before and after, on what evidence it was decided, and where it was sent.
 * @param {{ change: any, canWatch: boolean }} props
 */
export function ChangeDetails({ change, canWatch }) {
  const { lastGoodCheckAt, lastSeenAt, detectedAt, firstMissedAt } = change
  const feed = feedOf(change)
  const { before, after } = change.place ?? change
  const isRoute = feed === 'route' || change.place !== undefined
  const since = lastGoodCheckAt ?? lastSeenAt
  const until = detectedAt ?? firstMissedAt
  return html`<div class="details">
    <dl>
      <dt>${texts.changes.happened}</dt>
      <dd>${since ? html`${texts.changes.after} <${Clock} at=${since} /> ${texts.changes.and} ` : ''}${texts.changes.by} <${Clock} at=${until} /></dd>
      <dt>${texts.changes.recorded}</dt><dd><${Clock} at=${change.recordedAt} />, ${texts.changes.number(change.seq)}</dd>
      ${change.list && html`<dt>${texts.changes.watch}</dt><dd><a href=${linkTo('watches', change.list, change.reference)}>${change.list} / ${change.reference}</a></dd>`}
      ${feed === 'fare' && html`<dt>${texts.changes.fare}</dt><dd><a href=${linkTo('schedule', String(change.fareId))}>${texts.changes.fareLink(change.fareId)}</a></dd>`}
    </dl>
    ${
      !change.route &&
      html`<div class="sides">
      <${Side} title=${texts.changes.before} state=${before} isRoute=${isRoute} />
      <${Side} title=${texts.changes.now} state=${after} isRoute=${isRoute} />
    </div>`
    }
    ${
      feed === 'route'
        ? html`<${RouteSources} change=${change} />`
        : html`<${FareSources} feed=${feed} seq=${change.seq} canWatch=${canWatch} />`
    }
  </div>`
}

/** @param {{ title: string, state: any, isRoute: boolean }} props */
function Side({ title, state, isRoute }) {
  const legs = state?.outbound ? [state.outbound, state.return].filter(Boolean) : []
  return html`<section>
    <h3>${title}</h3>
    ${isRoute ? html`<p>${routeText(state)}</p>` : !state && html`<p class="muted">${texts.changes.nothing}</p>`}
    ${state?.state && html`<p>${stateName(state.state)}${state.price ? `, ${priceText(state.price)}` : ''}</p>`}
    ${legs.map((leg) => html`<p><${Leg} leg=${leg} name=${texts.changes.noFlight} /></p>`)}
  </section>`
}

/** @param {{ change: any }} props */
function RouteSources({ change }) {
  return html`<div class="sides">
    <section><h3>${texts.changes.evidence}</h3><p><a href=${linkTo('runs', String(change.runId))}>${texts.changes.run(change.runId)}</a></p></section>
  </div>`
}

/** @param {{ feed: 'fare' | 'watch', seq: number, canWatch: boolean }} props */
function FareSources({ feed, seq, canWatch }) {
  const path = `${PATHS[feed]}/${seq}`
  const isOwn = feed === 'watch'
  const log = isOwn ? `/deliveries?seq=${seq}` : `${path}/deliveries`
  const evidence = useResource((signal) => callApi(`${path}/evidence`, { signal }), [path])
  const sent = useResource((signal) => callApi(log, { signal }), [log])
  return html`<div class="sides">
    <section><h3>${texts.changes.evidence}</h3>
      <${Loaded} of=${evidence}>${(/** @type {any} */ { status, latencyMs, answer }) =>
        answer === null
          ? html`<p class="muted">${texts.changes.noEvidence}</p>`
          : html`<details><summary>${texts.changes.answer(status, latencyMs)}</summary><pre tabindex="0">${indented(answer)}</pre></details>`}<//>
    </section>
    <section><h3>${texts.changes.deliveries}</h3>
      <${Loaded} of=${sent}>${(/** @type {any} */ { items }) =>
        items.length === 0
          ? html`<p class="muted">${texts.changes.noDelivery}</p>`
          : html`<${Deliveries} deliveries=${items} named="endpoint" isOwn=${isOwn} canWatch=${canWatch} onChanged=${sent.reload} />`}<//>
    </section>
  </div>`
}

/** JSON with one member a line; other text as it is. @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
