/**
 * @import { Change, Side as SideOfChange } from '../answers.ts'
 * @import { Flight, Leg as LegOfFare } from '../api-types.ts'
 * @import { Described } from '../recent-changes.js'
 * @import { Caller } from '../session.js'
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
import { linkTo, typed, useAnswer } from '../hooks.js'
import { Badge, Empty, html, loaded, Segments, Select } from '../parts.js'
import { keyOf, useChanges } from '../recent-changes.js'
import { textOf, texts } from '../texts.js'
import { Clock, dayText, TimeOfDay } from '../times.js'
import { vocabulary } from '../vocabulary.js'
import { Deliveries } from './delivery-log.js'

const t = texts.changes

const SHOWN = 300
const EARLIER = 100

/** The live feed, newest first, with filters. @param {{ caller: Caller }} props */
export function ChangesView({ caller }) {
  const changes = useChanges(caller, { shown: SHOWN, earlier: EARLIER })
  const [filter, setFilter] = useState(NO_FILTER)
  return html`
    <${Filters} filter=${filter} onChange=${setFilter} />
    ${loaded(changes, (items) => {
      const found = passing(items, filter)
      if (items.length === 0) return html`<${Empty} texts=${t.empty} />`
      return found.length === 0
        ? html`<${Empty} texts=${t.noMatch} />`
        : html`<${ChangeList} changes=${found} canWatch=${caller.scopes.includes('watch')} />`
    })}`
}

/** @typedef {typeof NO_FILTER} Filter */
const NO_FILTER = { about: '', kind: '', text: '' }

/** @param {{ kind: string }} record */
function isOfRoute({ kind }) {
  return vocabulary.kinds[kind]?.feeds.includes('route')
}

/** The records of fares and those of routes. @param {Described[]} changes */
export function divided(changes) {
  return { fares: changes.filter((one) => !isOfRoute(one)), routes: changes.filter(isOfRoute) }
}

/** @param {Described[]} changes @param {Filter} filter */
function passing(changes, { about, kind, text }) {
  const wanted = text.trim().toLowerCase()
  return changes.filter(
    (change) =>
      (about === '' || isOfRoute(change) === (about === 'routes')) &&
      (kind === '' || change.kind === kind) &&
      (wanted === '' ||
        `${change.subject.title} ${change.subject.detail} ${change.list ?? ''} ${change.reference ?? ''}`
          .toLowerCase()
          .includes(wanted)),
  )
}

/** @param {{ filter: Filter, onChange: (filter: Filter) => void }} props */
function Filters({ filter, onChange }) {
  const kinds = Object.entries(vocabulary.kinds).filter(
    ([kind]) => filter.about === '' || isOfRoute({ kind }) === (filter.about === 'routes'),
  )
  return html`<div class="toolbar">
    <${Segments} label=${t.about} names=${t.segments} chosen=${filter.about}
      onChoose=${(/** @type {string} */ about) => onChange({ ...filter, about, kind: '' })} />
    <${Select} label=${t.kind} value=${filter.kind} onChoose=${(/** @type {string} */ kind) => onChange({ ...filter, kind })}
      options=${[['', t.allKinds], ...kinds.map(([kind, { label }]) => [kind, label])]} />
    <label>${texts.search}
      <input type="search" value=${filter.text} placeholder=${t.searchHint}
        onInput=${typed((text) => onChange({ ...filter, text }))} />
    </label>
  </div>`
}

/**
 * Records, newest first, below the days on which they were recorded. Each opens to its evidence and deliveries.
 * @param {{ changes: readonly (Change & { subject?: Described['subject'] })[], canWatch: boolean, isNamed?: boolean }} props `isNamed`: whether each says what it is about
 */
export function ChangeList({ changes, canWatch, isNamed = true }) {
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
        ${isOpen && html`<${ChangeDetails} change=${change} canWatch=${canWatch} />`}
      </li>`
    })}
  </ol>`
}

/** Where the records of a feed have their evidence and deliveries. */
const PATHS = /** @type {const} */ ({ fare: '/availability-changes', watch: '/watch-changes' })

/**
 * A record: when it happened, before and after, on what evidence it was decided, and where it was sent.
 * @param {{ change: Change, canWatch: boolean }} props
 */
function ChangeDetails({ change, canWatch }) {
  const { lastGoodCheckAt, lastSeenAt, detectedAt, firstMissedAt } = change
  const feed = feedOf(change)
  const { before, after } = change.place ?? change
  const isRoute = feed === 'route' || change.place !== undefined
  const since = lastGoodCheckAt ?? lastSeenAt
  const until = detectedAt ?? firstMissedAt
  return html`<div class="details">
    <dl>
      <dt>${t.happened}</dt>
      <dd>${since ? html`${t.after} <${Clock} at=${since} /> ${t.and} ` : ''}${t.by} <${Clock} at=${until} /></dd>
      <dt>${t.recorded}</dt><dd><${Clock} at=${change.recordedAt} />, ${t.number(change.seq)}</dd>
      ${change.list && html`<dt>${t.watch}</dt><dd><a href=${linkTo('watches', change.list, change.reference ?? '')}>${change.list} / ${change.reference}</a></dd>`}
      ${change.fareId && html`<dt>${t.fare}</dt><dd><a href=${linkTo('schedule', change.fareId)}>${t.fareLink(change.fareId)}</a></dd>`}
    </dl>
    ${
      !change.route &&
      html`<div class="sides">
      <${Side} title=${t.before} state=${before} isRoute=${isRoute} />
      <${Side} title=${t.now} state=${after} isRoute=${isRoute} />
    </div>`
    }
    ${
      feed === 'route'
        ? html`<${RouteSources} runId=${change.runId} />`
        : html`<${FareSources} feed=${feed} seq=${change.seq} canWatch=${canWatch} />`
    }
  </div>`
}

/** @param {{ title: string, state?: SideOfChange | null, isRoute: boolean }} props */
function Side({ title, state, isRoute }) {
  const legs = [state?.outbound, state?.return].flatMap((leg) => leg ?? [])
  return html`<section>
    <h3>${title}</h3>
    ${isRoute ? html`<p>${routeText(state)}</p>` : !state && html`<p class="muted">${t.nothing}</p>`}
    ${state?.state && html`<p>${stateName(state.state)}${state.price ? `, ${priceText(state.price)}` : ''}</p>`}
    ${legs.map((leg) => html`<p><${Leg} leg=${leg} name=${t.noFlight} /></p>`)}
  </section>`
}

/** @param {{ runId: number }} props */
function RouteSources({ runId }) {
  return html`<div class="sides">
    <section><h3>${t.evidence}</h3><p><a href=${linkTo('runs', runId)}>${t.run(runId)}</a></p></section>
  </div>`
}

/** @param {{ feed: 'fare' | 'watch', seq: number, canWatch: boolean }} props */
function FareSources({ feed, seq, canWatch }) {
  const isOwn = feed === 'watch'
  const evidence = useAnswer(`${PATHS[feed]}/${seq}/evidence`)
  const sent = useAnswer(isOwn ? `/deliveries?seq=${seq}` : `${PATHS.fare}/${seq}/deliveries`)
  return html`<div class="sides">
    <section><h3>${t.evidence}</h3>
      ${loaded(evidence, ({ status, latencyMs, answer }) =>
        answer === null
          ? html`<p class="muted">${t.noEvidence}</p>`
          : html`<details><summary>${t.answer(status, latencyMs)}</summary><pre tabindex="0">${indented(answer)}</pre></details>`,
      )}
    </section>
    <section><h3>${t.deliveries}</h3>
      ${loaded(sent, ({ items }) =>
        items.length === 0
          ? html`<p class="muted">${t.noDelivery}</p>`
          : html`<${Deliveries} deliveries=${items} named="endpoint" isOwn=${isOwn} canWatch=${canWatch} onChanged=${sent.reload} />`,
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
    html`${texts.soldBy} ${
      url.startsWith('https://')
        ? html`<a href=${url} rel="noreferrer" target="_blank">${name ?? url}</a>`
        : html`${name} ${url}`
    }`
  }${site && each !== '' ? ', ' : ''}${each}</span>`
}
