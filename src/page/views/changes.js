/**
 * @import { Change, Side as SideOfChange } from '../answers.ts'
 * @import { Flight, Leg as LegOfFare } from '../api-types.ts'
 * @import { Described } from '../recent-changes.js'
 */
import { useState } from 'preact/hooks'
import {
  changeMark,
  changeText,
  eachText,
  feedOf,
  flightText,
  priceText,
  routeText,
  stateName,
} from '../describe.js'
import { linkTo, typed, useAnswer, useQuery } from '../hooks.js'
import { Badge, Empty, Field, html, loaded, Segments, Select } from '../parts.js'
import { keyOf, useChanges } from '../recent-changes.js'
import { textOf, texts } from '../texts.js'
import { Clock, dayText, TimeOfDay } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { Deliveries } from './delivery-log.js'

const t = texts.changes

const SHOWN = 200

/** The last records of the feeds, newest first, with filters. */
export function ChangesView() {
  const changes = useChanges(SHOWN)
  const [query] = useQuery()
  return html`
    <${Filters} />
    ${loaded(changes, (items) => {
      const found = passing(items, query)
      if (items.length === 0) return html`<${Empty} texts=${t.empty} />`
      return found.length === 0
        ? html`<${Empty} texts=${t.noMatch} />`
        : html`<${ChangeList} changes=${found} />`
    })}`
}

/** @param {{ kind: string }} record */
function isOfRoute({ kind }) {
  return vocabulary.kinds[kind]?.feeds.includes('route')
}

/** The records of fares and those of routes. @param {Described[]} changes */
export function divided(changes) {
  return { fares: changes.filter((one) => !isOfRoute(one)), routes: changes.filter(isOfRoute) }
}

/** @param {Described[]} changes @param {Record<string, string>} query */
function passing(changes, { about, kind, text = '' }) {
  const wanted = text.trim().toLowerCase()
  return changes.filter(
    (change) =>
      (!about || isOfRoute(change) === (about === 'routes')) &&
      (!kind || change.kind === kind) &&
      `${change.subject.title} ${change.subject.detail} ${change.list ?? ''} ${change.reference ?? ''}`
        .toLowerCase()
        .includes(wanted),
  )
}

function Filters() {
  const [{ about = '', kind = '', text = '' }, setQuery] = useQuery()
  const kinds = Object.entries(vocabulary.kinds).filter(
    ([one]) => about === '' || isOfRoute({ kind: one }) === (about === 'routes'),
  )
  return html`<div class="toolbar">
    <${Segments} label="About" names=${t.segments} chosen=${about} onChoose=${(/** @type {string} */ given) => setQuery({ about: given, kind: '' })} />
    <${Select} label="Kind" value=${kind} onChoose=${(/** @type {string} */ given) => setQuery({ kind: given })}
      options=${[['', 'all'], ...kinds.map(([one, { label }]) => [one, label])]} />
    <${Field} label=${texts.search} type="search" value=${text} placeholder="place, flight, reference" onInput=${typed((given) => setQuery({ text: given }))} />
  </div>`
}

/**
 * Records, newest first, below the days on which they were recorded. Each opens to its evidence and deliveries.
 * @param {{ changes: readonly (Change & { subject?: Described['subject'] })[], isNamed?: boolean }} props `isNamed`: whether each says what it is about
 */
export function ChangeList({ changes, isNamed = true }) {
  const [open, setOpen] = useState('')
  const days = changes.map(({ recordedAt }) => dayText(new Date(recordedAt)))
  return html`<ol class="feed ${isNamed ? '' : 'of-one'}">
    ${changes.map((change, i) => {
      const key = keyOf(change)
      const isOpen = open === key
      const { title, detail } = change.subject ?? {}
      return html`${days[i] !== days[i - 1] && html`<li class="day" key=${days[i]}><h3>${days[i]}</h3></li>`}
      <li key=${key} class=${isOpen ? 'open' : ''}>
        <button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(isOpen ? '' : key)}>
          <span class="when"><${TimeOfDay} at=${change.recordedAt} /></span>
          ${isNamed && html`<span class="subject"><strong>${title}</strong> <span class="muted">${detail}</span>${change.reference && html` <span class="tag">${change.list} / ${change.reference}</span>`}</span>`}
          <${Badge} ...${changeMark(change)}>${changeText(change)}<//>
        </button>
        ${isOpen && html`<${ChangeDetails} change=${change} />`}
      </li>`
    })}
  </ol>`
}

/** Where the records of a feed have their evidence and deliveries. */
const PATHS = /** @type {const} */ ({ fare: '/availability-changes', watch: '/watch-changes' })

/**
 * A record: when it happened, before and after, on what evidence it was decided, and where it was sent.
 * @param {{ change: Change }} props
 */
function ChangeDetails({ change }) {
  const { lastGoodCheckAt, lastSeenAt, detectedAt, firstMissedAt } = change
  const feed = feedOf(change)
  const { before, after } = change.place ?? change
  const isRoute = feed === 'route' || change.place !== undefined
  const since = lastGoodCheckAt ?? lastSeenAt
  const until = detectedAt ?? firstMissedAt
  return html`<div class="details">
    <dl>
      <dt>It happened</dt>
      <dd>${since ? html`after <${Clock} at=${since} /> and ` : ''}by <${Clock} at=${until} /></dd>
      <dt>Recorded</dt><dd><${Clock} at=${change.recordedAt} />, ${t.number(change.seq)}</dd>
      ${change.list && html`<dt>Watch</dt><dd><a href=${linkTo('watches', change.list, change.reference ?? '')}>${change.list} / ${change.reference}</a></dd>`}
      ${change.fareId && html`<dt>Fare</dt><dd><a href=${linkTo('schedule', change.fareId)}>${t.fareLink(change.fareId)}</a></dd>`}
    </dl>
    ${
      !change.route &&
      html`<div class="sides">
      <${Side} title="Before" state=${before} isRoute=${isRoute} />
      <${Side} title="After" state=${after} isRoute=${isRoute} />
    </div>`
    }
    ${
      feed === 'route'
        ? html`<${RouteSources} runId=${change.runId} />`
        : html`<${FareSources} feed=${feed} seq=${change.seq} />`
    }
  </div>`
}

/** @param {{ title: string, state?: SideOfChange | null, isRoute: boolean }} props */
function Side({ title, state, isRoute }) {
  const legs = [state?.outbound, state?.return].flatMap((leg) => leg ?? [])
  return html`<section>
    <h3>${title}</h3>
    ${isRoute ? html`<p>${routeText(state)}</p>` : !state && html`<p class="muted">nothing was known</p>`}
    ${state?.state && html`<p>${stateName(state.state)}${state.price ? `, ${priceText(state.price)}` : ''}</p>`}
    ${legs.map((leg) => html`<p><${Leg} leg=${leg} name="the flight is not shown" /></p>`)}
  </section>`
}

/** @param {{ runId: number }} props */
function RouteSources({ runId }) {
  return html`<div class="sides">
    <section><h3>${t.evidence}</h3><p><a href=${linkTo('runs', runId)}>${t.run(runId)}</a></p></section>
  </div>`
}

/** @param {{ feed: 'fare' | 'watch', seq: number }} props */
function FareSources({ feed, seq }) {
  const isOwn = feed === 'watch'
  const evidence = useAnswer(`${PATHS[feed]}/${seq}/evidence`)
  const sent = useAnswer(isOwn ? `/deliveries?seq=${seq}` : `${PATHS.fare}/${seq}/deliveries`)
  return html`<div class="sides">
    <section><h3>${t.evidence}</h3>
      ${loaded(evidence, ({ status, latencyMs, answer }) =>
        answer === null
          ? html`<p class="muted">No answer is kept, or it is older than 90 days.</p>`
          : html`<details><summary>${t.answer(status, latencyMs)}</summary><pre tabindex="0">${indented(answer)}</pre></details>`,
      )}
    </section>
    <section><h3>Deliveries</h3>
      ${loaded(sent, ({ items }) =>
        items.length === 0
          ? html`<p class="muted">The record was sent to no endpoint.</p>`
          : html`<${Deliveries} deliveries=${items} named="endpoint" isOwn=${isOwn} />`,
      )}
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

/**
 * A leg: its flight, or the one that is known of it, what is believed, and its offer.
 * @param {{ leg: LegOfFare | null, known?: Flight | null, name: string }} props `name` stands for a flight that was never seen
 */
export function Leg({ leg, known, name }) {
  const flight = leg?.flight ?? known
  const price = leg?.price ? `, ${priceText(leg.price)}` : ''
  return html`${flightText(flight) ?? name}: ${textOf(vocabulary.beliefs, leg?.belief ?? 'unknown')}${price} <${Offer} leg=${{ ...leg, flight }} />`
}

/**
 * Who sells the flight of a leg, and what each passenger costs. An address of the upstream is a link only if it is
 * https; nothing reads it.
 * @param {{ leg: { flight?: Flight | null, passengerPrices?: LegOfFare['passengerPrices'] } }} props
 */
function Offer({ leg }) {
  const site = leg?.flight?.site
  const each = eachText(leg?.passengerPrices)
  if (!site && each === '') return null
  const name = site?.name ?? site?.id
  const url = site?.url ?? ''
  return html`<span class="muted">${
    site &&
    html`sold by ${
      url.startsWith('https://')
        ? html`<a href=${url} rel="noreferrer" target="_blank">${name ?? url}</a>`
        : html`${name} ${url}`
    }`
  }${site && each !== '' ? ', ' : ''}${each}</span>`
}
